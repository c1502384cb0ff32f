#include "core/objects/loaded_types.h"

#include "core/memory/word_hash.h"
#include "core/objects/lookup_map.h"
#include "core/objects/type_search.h"

#include <fmt/format.h>

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

// Calls visit(pointer) for each word of the map that is not zero, until it returns false. Words are read in
// blocks. Takes what it looks at off from `rows_left`; 0 when that is not enough.
void each_of(const Target& target, const LookupMap& map, std::uint64_t& rows_left, const auto& visit) {
  constexpr std::uint32_t most = 8'192; // words at a time
  const std::uint32_t size = target.pointer_size();
  std::vector<std::byte> block;
  for (const LookupMap::Part& part : map.parts) {
    if (map_part_rows + part.count > rows_left) {
      rows_left = 0;
      throw_corrupt(part.table, fmt::format("lookup maps of more than {} rows", max_all_map_rows));
    }
    rows_left -= map_part_rows + part.count;
    for (std::uint32_t first = 0; first < part.count; first += most) {
      const std::uint32_t count = std::min(most, part.count - first);
      block.resize(std::size_t{count} * size);
      target.read_bytes(part.table + Address{first} * size, block);
      for (std::uint32_t i = 0; i < count; ++i)
        if (const Address word =
                word_of(target.platform(), std::span(block).subspan(std::size_t{i} * size, size));
            word != 0 && !visit(word & ~map.flags))
          return;
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
  std::uint64_t rows_left = max_all_map_rows;
  for (const Address module : finder.names().module_addresses()) {
    if (rows_left == 0 || tables.size() == max_loaded_types) break;
    attempt([&] {
      each_of(finder.target(), read_lookup_map(finder.target(), module, definitions), rows_left,
              [&](Address table) {
                tables.push_back(table);
                return tables.size() < max_loaded_types;
              });
    });
  }
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
  std::uint64_t rows_left = max_all_map_rows;
  for (const Address module : finder.names().module_addresses()) {
    if (rows_left == 0) break;
    mark.add(module);
    try {
      each_of(target, read_lookup_map(target, module, definitions), rows_left, [&](Address table) {
        mark.add(table);
        return true;
      });
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
