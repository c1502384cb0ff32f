#include "core/waits/core_library.h"

#include "core/objects/thread_statics.h"
#include "core/types/module_metadata.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace clr {

void CoreLibrary::list() {
  if (listed_) return;
  TypeFinder& finder = objects_->finder();
  const Target& target = finder.target();
  const Address object_type = target.read_pointer(target.global("ObjectMethodTable"));
  module_ = objects_->layouts().of(object_type).module;
  if (module_ == 0) {
    const std::string& why = objects_->layouts().of(object_type).problem;
    throw Error(ErrorKind::unsupported_contract,
                fmt::format("the framework's library cannot be read{}{}", why.empty() ? "" : ": ", why));
  }
  finder.names().named_modules().at(module_).metadata.with([&](MetadataNames& names) {
    const std::uint32_t count = names.metadata().rows(MetadataTable::type_def);
    for (std::uint32_t rid = 1; rid <= count; ++rid) {
      const TypeNamePtr type = names.type_def(rid);
      tokens_.try_emplace(fmt::format("{}.{}", type->name_space, fmt::join(type->chain, "+")),
                          token_of(MetadataTable::type_def, rid));
    }
  });
  listed_ = true;
}

Address CoreLibrary::find(std::string_view name) {
  list();
  const auto found = tokens_.find(std::string(name));
  if (found == tokens_.end()) return 0;
  const Address table = objects_->finder().loaded(module_, found->second);
  const Target& target = objects_->finder().target();
  // Not loaded, or not to be found: the second has a reason from .NET 11 on.
  if (table == 0 && target.descriptor().version >= descriptor_format_names)
    target.offset("Module", "TypeDefToMethodTableMap");
  return table;
}

std::optional<Address> CoreLibrary::thread_static(std::string_view type, std::string_view field,
                                                  Address thread) {
  const Address table = find(type);
  if (table == 0) return std::nullopt;
  const TypeLayout& layout = objects_->layouts().of(table);
  for (const FieldLayout& known : layout.fields)
    if (known.thread_static && known.name == field)
      return thread_static_address(objects_->finder().target(), layout.table, known, thread);
  if (!layout.problem.empty()) throw Error(ErrorKind::unsupported_contract, layout.problem);
  return std::nullopt;
}

std::optional<Address> CoreLibrary::static_field(std::string_view type, std::string_view field) {
  const Address table = find(type);
  if (table == 0) return std::nullopt;
  for (const FieldLayout& known : objects_->layouts().of(table).fields)
    if (known.is_static && !known.thread_static && known.name == field) return known.address;
  return std::nullopt;
}

Address CoreLibrary::static_reference(std::string_view type, std::string_view field) {
  const auto address = static_field(type, field);
  return address ? objects_->finder().target().read_pointer(*address) : 0;
}

} // namespace clr
