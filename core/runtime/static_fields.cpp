#include "core/runtime/static_fields.h"

#include "core/objects/object_reader.h"
#include "core/objects/type_search.h"

namespace clr {

const std::vector<StaticField>& StaticFields::all(const std::function<bool()>& go_on) {
  if (whole_) return fields_;
  fields_.clear();
  by_slot_.clear();
  name_bytes_ = 0;
  bool stopped = false;
  FieldRanges ranges;
  search_types(runtime_->objects()->finder(),
               {.wanted =
                    [&](const Metadata& metadata, std::uint32_t rid, const std::string&, bool) {
                      const auto [first, last] = ranges.of(metadata, rid);
                      for (std::uint32_t i = first; i < last; ++i) {
                        const FieldRow row = metadata.field(metadata.field_at(i));
                        if (row.is_static() && !row.literal()) return true;
                      }
                      return false;
                    },
                .visit =
                    [&](Address table, const std::string& text) {
                      stopped = go_on && !go_on();
                      if (!stopped) add_type(table, text);
                      return !stopped && !is_full();
                    }});
  whole_ = !stopped;
  return fields_;
}

const StaticField* StaticFields::at(Address slot) {
  all();
  const auto found = by_slot_.find(slot);
  return found == by_slot_.end() ? nullptr : &fields_[found->second];
}

void StaticFields::add_type(Address table, const std::string& text) {
  const TypeLayout& layout = runtime_->objects()->layouts().of(table);
  for (const FieldLayout& field : layout.fields) {
    if (!field.is_static || !field.address || (!field.boxed && !field.type->is_reference())) continue;
    if (is_full()) return;
    by_slot_.try_emplace(*field.address, fields_.size());
    fields_.push_back({.name = (text.empty() ? layout.text : text) + "." + field.name,
                       .slot = *field.address,
                       .boxed = field.boxed});
    name_bytes_ += fields_.back().name.size();
  }
}

} // namespace clr
