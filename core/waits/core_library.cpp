#include "core/waits/core_library.h"

#include "core/objects/thread_statics.h"
#include "core/types/module_metadata.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace clr {

const CoreLibrary::Tokens& CoreLibrary::tokens_of(Address module) {
  if (const auto known = tokens_.find(module); known != tokens_.end()) return known->second;
  Tokens tokens;
  objects_->finder().names().named_modules().at(module).metadata.with([&](MetadataNames& names) {
    const std::uint32_t count = names.metadata().rows(MetadataTable::type_def);
    for (std::uint32_t rid = 1; rid <= count; ++rid) {
      const TypeNamePtr type = names.type_def(rid);
      tokens.try_emplace(fmt::format("{}.{}", type->name_space, fmt::join(type->chain, "+")),
                         token_of(MetadataTable::type_def, rid));
    }
  });
  return tokens_.emplace(module, std::move(tokens)).first->second;
}

Address CoreLibrary::find_in(Address module, std::string_view name) {
  const Tokens& tokens = tokens_of(module);
  const auto found = tokens.find(std::string(name));
  if (found == tokens.end()) return 0;
  const Address table = objects_->finder().loaded(module, found->second);
  const Target& target = objects_->finder().target();
  // Not loaded, or not to be found: the second has a reason from .NET 11 on.
  if (table == 0 && target.descriptor().version >= descriptor_format_names)
    target.offset("Module", "TypeDefToMethodTableMap");
  return table;
}

Address CoreLibrary::find(std::string_view name) {
  if (module_ == 0) {
    const Target& target = objects_->finder().target();
    const Address object_type = target.read_pointer(target.global("ObjectMethodTable"));
    const TypeLayout& layout = objects_->layouts().of(object_type);
    if (layout.module == 0)
      throw Error(ErrorKind::unsupported_contract,
                  fmt::format("the framework's library cannot be read{}{}",
                              layout.problem.empty() ? "" : ": ", layout.problem));
    module_ = layout.module;
  }
  return find_in(module_, name);
}

std::optional<Address> CoreLibrary::thread_static(std::string_view type, std::string_view field,
                                                  Address thread) {
  return thread_static(find(type), field, thread);
}

std::optional<Address> CoreLibrary::thread_static(Address table, std::string_view field, Address thread) {
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
