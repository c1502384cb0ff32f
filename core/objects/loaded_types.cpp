#include "core/objects/loaded_types.h"

#include "core/memory/word_hash.h"
#include "core/objects/lookup_map.h"
#include "core/objects/type_search.h"

#include <algorithm>
#include <span>

namespace clr {
namespace {

constexpr std::uint32_t over_variables = 0x2000'0000; // MethodTable flags: it contains generic variables
constexpr std::string_view definitions = "TypeDefToMethodTableMap";

Address word_of(const Platform& platform, std::span<const std::byte> bytes) {
  return platform.pointer_size == 4 ? load<std::uint32_t>(bytes, platform.byte_order)
                                    : load<std::uint64_t>(bytes, platform.byte_order);
}

// Calls visit(pointer) for each word of the map that is not zero. Words are read in blocks.
void each_of(const Target& target, const LookupMap& map, const auto& visit) {
  constexpr std::uint32_t most = 8'192; // words at a time
  const std::uint32_t size = target.pointer_size();
  std::vector<std::byte> block;
  for (const LookupMap::Part& part : map.parts) {
    for (std::uint32_t first = 0; first < part.count; first += most) {
      const std::uint32_t count = std::min(most, part.count - first);
      block.resize(std::size_t{count} * size);
      target.read_bytes(part.table + Address{first} * size, block);
      for (std::uint32_t i = 0; i < count; ++i)
        if (const Address word =
                word_of(target.platform(), std::span(block).subspan(std::size_t{i} * size, size));
            word != 0)
          visit(word & ~map.flags);
    }
  }
  if (map.fault) throw *map.fault;
}

} // namespace

LoadedTypes loaded_types(TypeFinder& finder, const std::function<void(const Error&)>& fault) {
  LoadedTypes loaded;
  const auto attempt = [&](const auto& act) {
    try {
      act();
    } catch (const Error& error) {
      fault(error);
    }
  };
  std::vector<Address> tables;
  for (const Address module : finder.names().module_addresses())
    attempt([&] {
      each_of(finder.target(), read_lookup_map(finder.target(), module, definitions), [&](Address table) {
        if (tables.size() < max_loaded_types) tables.push_back(table);
      });
    });
  const std::vector<Address> instances = finder.all_instances();
  const std::size_t room = max_loaded_types - tables.size();
  if (instances.size() > room || room == 0) loaded.more = true;
  tables.insert(tables.end(), instances.begin(),
                instances.begin() + static_cast<std::ptrdiff_t>(std::min(room, instances.size())));

  for (const Address table : tables)
    attempt([&] {
      const RuntimeType& type = finder.names().types().type(table);
      const bool is_definition = type.table.generic() == MethodTable::Generic::definition;
      if (!type.name || ((type.table.flags & over_variables) != 0 && !is_definition)) return;
      std::string text = type.table.generic() == MethodTable::Generic::none ? declared_name(*type.name)
                                                                            : format_type(*type.name);
      loaded.types.push_back({.method_table = table, .text = std::move(text)});
    });
  return loaded;
}

std::uint64_t mark_of_loaded_types(TypeFinder& finder) {
  WordHash mark;
  const Target& target = finder.target();
  for (const Address module : finder.names().module_addresses()) {
    mark.add(module);
    try {
      each_of(target, read_lookup_map(target, module, definitions), [&](Address table) { mark.add(table); });
      const Address instances =
          target.read_pointer(target.field_address(module, "Module", "AvailableTypeParams"));
      if (instances == 0) continue;
      mark.add(target.read_pointer(target.field_address(instances, "EETypeHashTable", "Buckets")));
      mark.add(target.read_u32(target.field_address(instances, "EETypeHashTable", "Count")));
    } catch (const Error&) {
      // What cannot be read now cannot be listed either.
      mark.add(1);
    }
  }
  return mark.value();
}

} // namespace clr
