#include "extension/publish/shown_values.h"

#include "core/memory/utf8.h"
#include "extension/lldb/managed_value.h"

#include <algorithm>
#include <vector>

namespace clr::lldb_plugin {

ObjectReader* ShownValues::reader() {
  return sessions_->after_short_run()->runtime().objects();
}

ValueParts* ShownValues::parts_of(lldb::SBValue& value, bool anew) {
  lldb::SBValue raw = value.GetNonSyntheticValue();
  // A base class within an object: who asked for it wants what it declares.
  if (is_base_part(raw)) return nullptr;
  const std::optional<Address> object = object_of(raw);
  if (!object || !why_unreadable(life_of(target_)).empty()) return nullptr;
  const std::uint32_t stop = target_.GetProcess().GetStopID(true);
  if (stop != stop_ || kept_.size() >= max_kept) kept_.clear();
  stop_ = stop;
  const auto known = kept_.find(*object);
  if (known != kept_.end() && !anew) return &known->second;
  ObjectReader* const objects = reader();
  if (objects == nullptr) return nullptr;
  ValueParts parts = *object == 0 ? ValueParts() : ValueParts::of_object(*objects, *object);
  return &kept_.insert_or_assign(*object, std::move(parts)).first->second;
}

std::optional<std::uint64_t> ShownValues::count(lldb::SBValue& value) {
  try {
    const ValueParts* const parts = parts_of(value, true);
    if (parts != nullptr) return parts->count();
  } catch (const Error&) {
    // The text beside the variable says why.
  }
  return std::nullopt;
}

lldb::SBValue ShownValues::part(lldb::SBValue& value, std::uint64_t index) {
  try {
    ValueParts* const parts = parts_of(value, false);
    if (parts == nullptr) return {};
    ObjectReader& objects = *reader();
    const std::optional<ValuePart> part = parts->at(objects, index);
    if (!part) return {};
    std::vector<TypeUsePtr> uses{part->type};
    for (const ValuePart& field : parts->fields()) uses.push_back(field.type);
    types_.prepare(objects.layouts(), uses);
    lldb::SBType type = types_.find(*part->type);
    std::for_each(part->lengths.rbegin(), part->lengths.rend(),
                  [&](std::uint32_t length) { type = type.GetArrayType(length); });
    if (!type.IsValid()) return {};
    lldb::SBValue made =
        value.GetNonSyntheticValue().CreateValueFromAddress(printable(part->name).c_str(), part->at, type);
    // LLDB refuses a path that goes on behind a value which is already what formatters made of it.
    made.SetPreferSyntheticValue(false);
    return made;
  } catch (const Error&) {
    return {};
  }
}

std::optional<std::uint64_t> ShownValues::find(lldb::SBValue& value, std::string_view name) {
  try {
    const ValueParts* const parts = parts_of(value, false);
    return parts == nullptr ? std::nullopt : parts->find(name);
  } catch (const Error&) {
    return std::nullopt;
  }
}

void ShownValues::forget() {
  kept_.clear();
  types_.forget();
}

} // namespace clr::lldb_plugin
