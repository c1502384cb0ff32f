#include "core/objects/lookup_map.h"

namespace clr {

namespace {

void read_parts(const Target& target, Address node, LookupMap& map) {
  const Address first = node;
  map.flags = target.read_pointer(target.field_address(node, "ModuleLookupMap", "SupportedFlagsMask"));
  for (std::uint64_t rows = 0; node != 0;) {
    const LookupMap::Part part{
        .table = target.read_pointer(target.field_address(node, "ModuleLookupMap", "TableData")),
        .count = target.read_u32(target.field_address(node, "ModuleLookupMap", "Count"))};
    rows += part.count;
    if (map.parts.size() == max_map_parts || rows > max_map_rows)
      throw_corrupt(first, "a lookup map of too many parts or rows");
    map.parts.push_back(part);
    node = target.read_pointer(target.field_address(node, "ModuleLookupMap", "Next"));
  }
}

} // namespace

LookupMap read_lookup_map(const Target& target, Address module, std::string_view name) {
  LookupMap map;
  const auto offset = target.find_offset("Module", name);
  if (!offset) return map;
  try {
    read_parts(target, target.platform().wrap(module + static_cast<Address>(*offset)), map);
  } catch (const Error& error) {
    map.fault = error;
  }
  return map;
}

Address find_in(const Target& target, const LookupMap& map, std::uint32_t rid) {
  for (const LookupMap::Part& part : map.parts) {
    if (rid < part.count)
      return target.read_pointer(part.table + Address{rid} * target.pointer_size()) & ~map.flags;
    rid -= part.count;
  }
  if (map.fault) throw *map.fault;
  return 0;
}

} // namespace clr
