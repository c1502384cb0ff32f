#include "core/runtime/static_fields.h"

#include "core/objects/object_reader.h"

namespace clr {

const std::vector<StaticField>& StaticFields::all(const std::function<bool()>& go_on) {
  if (whole_) return fields_;
  fields_.clear();
  by_slot_.clear();
  for (const Address module : runtime_->names()->module_addresses()) {
    if (go_on && !go_on()) return fields_;
    try {
      add_module(module);
    } catch (const Error&) {
      // This module's types stay unknown.
    }
  }
  whole_ = true;
  return fields_;
}

const StaticField* StaticFields::at(Address slot) {
  all();
  const auto found = by_slot_.find(slot);
  return found == by_slot_.end() ? nullptr : &fields_[found->second];
}

void StaticFields::add_module(Address module) {
  TypeFinder& finder = runtime_->objects()->finder();
  const std::uint32_t types = runtime_->names()->named_modules().at(module).metadata.with(
      [](MetadataNames& names) { return names.metadata().rows(MetadataTable::type_def); });
  constexpr std::uint32_t type_def = 0x0200'0000;
  for (std::uint32_t rid = 1; rid <= types; ++rid) {
    try {
      const Address table = finder.loaded(module, type_def | rid);
      if (table == 0) continue;
      const TypeLayout& layout = runtime_->objects()->layouts().of(table);
      for (const FieldLayout& field : layout.fields) {
        if (!field.is_static || !field.address || (!field.boxed && !field.type->is_reference())) continue;
        if (fields_.size() >= max_fields) return;
        by_slot_.try_emplace(*field.address, fields_.size());
        fields_.push_back(
            {.name = layout.text + "." + field.name, .slot = *field.address, .boxed = field.boxed});
      }
    } catch (const Error&) {
      // This type's fields stay unknown.
    }
  }
}

} // namespace clr
