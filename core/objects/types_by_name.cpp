// The part of TypeFinder that finds types of other modules by their names.
#include "core/objects/type_finder.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

namespace clr {
namespace {

std::string key_of(const std::string& name_space, const std::string& name) {
  return name_space.empty() ? name : name_space + "+" + name;
}

std::string key_of(const TypeName& name) {
  std::string key = name.name_space;
  for (const std::string& part : name.chain) {
    key += key.empty() ? "" : "+";
    key += part;
  }
  return key;
}

} // namespace

void TypeFinder::NameIndex::add(std::string_view name, std::uint32_t rid) {
  rows_.emplace_back(std::hash<std::string_view>()(name), rid);
}

void TypeFinder::NameIndex::sort() {
  std::ranges::sort(rows_);
}

template<typename IsIt>
std::uint32_t TypeFinder::NameIndex::find(std::string_view name, IsIt is_it) const {
  const std::size_t hash = std::hash<std::string_view>()(name);
  auto row = std::ranges::lower_bound(rows_, std::pair(hash, std::uint32_t{0}));
  for (std::size_t left = max_same_hash; row != rows_.end() && row->first == hash && left != 0; ++row, --left)
    if (is_it(row->second)) return row->second;
  return 0;
}

Address TypeFinder::by_name(Address module, std::uint32_t type_ref) {
  const TypeNamePtr name = names_->named_modules().at(module).metadata.with(
      [&](MetadataNames& names) { return names.type_ref(type_ref); });
  if (name->shape != TypeShape::definition || name->scope.empty()) return 0;
  NamedModule* home = module_named(name->scope);
  return home ? named_type(*home, *name, 0) : 0;
}

NamedModule* TypeFinder::module_named(const std::string& simple_name) {
  const auto [slot, is_new] = modules_by_name_.try_emplace(simple_name, nullptr);
  if (!is_new) return slot->second;
  for (const Address address : names_->module_addresses()) {
    try {
      NamedModule& module = names_->named_modules().at(address);
      if (module.module.simple_name != simple_name && module.name != simple_name + ".dll") continue;
      return slot->second = &module;
    } catch (const Error&) {
      // A module that cannot be read has no name to compare.
    }
  }
  return nullptr;
}

const TypeFinder::ModuleTypes& TypeFinder::types_of(NamedModule& module) {
  const auto [slot, is_new] = by_name_.try_emplace(module.module.address);
  ModuleTypes& types = slot->second;
  if (!is_new) return types;
  try {
    module.metadata.with([&](MetadataNames& names) {
      types = {};
      const Metadata& metadata = names.metadata();
      for (std::uint32_t i = 1; i <= metadata.rows(MetadataTable::type_def); ++i) {
        try {
          types.defined.add(key_of(*names.type_def(i)), i);
        } catch (const Error& error) {
          if (error.kind() == ErrorKind::memory_missing) throw; // the file may have it
        }
      }
      for (std::uint32_t i = 1; i <= metadata.rows(MetadataTable::exported_type); ++i) {
        const ExportedTypeRow row = metadata.exported_type(i);
        if (table_of(row.implementation) == MetadataTable::assembly_ref && rid_of(row.implementation) != 0)
          types.forwarded.add(key_of(metadata.string(row.name_space), metadata.string(row.name)), i);
      }
    });
    types.defined.sort();
    types.forwarded.sort();
  } catch (const Error&) {
    types = {}; // none of its types is found by name
  }
  return types;
}

Address TypeFinder::named_type(NamedModule& module, const TypeName& name, unsigned depth) {
  if (depth == max_forwards || name.chain.empty()) return 0;
  const ModuleTypes& types = types_of(module);
  std::string forwarded_to;
  const std::uint32_t rid = module.metadata.with([&](MetadataNames& names) {
    const std::string key = key_of(name);
    const std::uint32_t own =
        types.defined.find(key, [&](std::uint32_t i) { return key_of(*names.type_def(i)) == key; });
    if (own != 0) return own;
    const Metadata& metadata = names.metadata();
    const std::string outermost = key_of(name.name_space, name.chain.front());
    const std::uint32_t forward = types.forwarded.find(outermost, [&](std::uint32_t i) {
      const ExportedTypeRow row = metadata.exported_type(i);
      return metadata.string(row.name) == name.chain.front() &&
             metadata.string(row.name_space) == name.name_space;
    });
    if (forward != 0)
      forwarded_to =
          metadata.string(metadata.assembly_ref(rid_of(metadata.exported_type(forward).implementation)).name);
    return std::uint32_t{0};
  });
  if (rid != 0) return in_map(module.module.address, "TypeDefToMethodTableMap", rid);
  NamedModule* next = forwarded_to.empty() ? nullptr : module_named(forwarded_to);
  return next ? named_type(*next, name, depth + 1) : 0;
}

} // namespace clr
