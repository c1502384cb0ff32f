#include "extension/publish/shown_values.h"

#include "core/memory/error.h"
#include "core/memory/utf8.h"
#include "core/objects/loaded_types.h"
#include "core/objects/returned_fields.h"
#include "core/objects/type_search.h"
#include "extension/lldb/managed_value.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace clr::lldb_plugin {

namespace {

// The declared type's name of a reference has a sign behind it.
std::vector<NamedArgument> names_of(lldb::SBValue& raw) {
  const char* const name = raw.GetTypeName();
  std::string_view text = name == nullptr ? "" : name;
  while (text.ends_with('&') || text.ends_with('*') || text.ends_with(' ')) text.remove_suffix(1);
  return named_arguments(text);
}

// As a structure whose only field is there several times is described.
bool is_run(lldb::SBValue& raw) {
  return raw.GetNumChildren() == 1 && raw.GetChildAtIndex(0).GetType().IsArrayType();
}

} // namespace

ObjectReader* ShownValues::reader() {
  return sessions_->for_values()->runtime().objects();
}

// A type may be loaded or unloaded while the process runs.
void ShownValues::renew_types(ObjectReader& objects) {
  const std::uint32_t stop = target_.GetProcess().GetStopID(true);
  if (std::exchange(types_stop_, stop) == stop || !is_stopped_process(target_)) return;
  const std::uint64_t mark = mark_of_loaded_types(objects.finder());
  if (std::exchange(types_mark_, mark) != mark) types_by_name_.clear();
  std::erase_if(types_by_name_, [](const auto& known) { return known.second.fault; });
}

std::optional<ShownValues::Place> ShownValues::structure_of(lldb::SBValue& raw) {
  const char* const name = raw.GetTypeName();
  const lldb::addr_t at = raw.GetLoadAddress();
  if (name == nullptr || at == LLDB_INVALID_ADDRESS || is_indirect(raw.GetType()) ||
      !why_unreadable(life_of(target_)).empty())
    return std::nullopt;
  const ManagedValue kind = kind_of_value(name);
  const bool other = kind == ManagedValue::other && !object_of(raw) &&
                     (raw.GetType().GetTypeClass() & lldb::eTypeClassStruct) != 0;
  const bool may_be_run = other && is_run(raw), may_be_union = other && !may_be_run;
  if (kind != ManagedValue::described && !other) return std::nullopt;
  ObjectReader* const objects = reader();
  if (objects == nullptr || (may_be_union && !objects->finder().has_assembly("FSharp.Core")))
    return std::nullopt;
  renew_types(*objects);
  if (types_by_name_.size() >= max_kept_types) types_by_name_.clear();
  const auto [found, is_new] = types_by_name_.try_emplace(name);
  KnownType& type = found->second;
  if (is_new) {
    try {
      type.table = find_type(*objects, without_tuple_names(name));
      const TypeLayout& layout = objects->layouts().of(type.table);
      if (may_be_union && objects->union_of(layout) == nullptr) type.table = 0;
      if (may_be_run && layout.repeats < 2) type.table = 0;
    } catch (const Error& error) {
      // Not loaded, or the name does not say all of its arguments: its members are shown.
      type.fault = error.kind() != ErrorKind::invalid_argument;
    }
  }
  return type.table == 0 ? std::nullopt : std::optional(Place{at, type.table});
}

std::string ShownValues::text(lldb::SBValue& value, const TextLimits& limits) {
  lldb::SBValue raw = value.GetNonSyntheticValue();
  const std::optional<Place> place = structure_of(raw);
  if (!place) return {};
  const TypeUse use{
      .kind = TypeUse::Kind::value, .method_table = place->method_table, .name = unknown_type()};
  return reader()->describe_value(use, place->object, limits);
}

ValueParts* ShownValues::parts_of(lldb::SBValue& value, bool anew) {
  lldb::SBValue raw = value.GetNonSyntheticValue();
  // A base class within an object: who asked for it wants what it declares.
  if (is_base_part(raw)) return nullptr;
  std::optional<Place> place = structure_of(raw);
  if (const std::optional<Address> object = place ? std::nullopt : object_of(raw)) place = Place{*object, 0};
  if (!place || !why_unreadable(life_of(target_)).empty()) return nullptr;
  place->names = names_of(raw);
  const std::uint32_t stop = target_.GetProcess().GetStopID(true);
  if (stop != stop_ || kept_.size() >= max_kept) kept_.clear();
  stop_ = stop;
  const auto known = kept_.find(*place);
  if (known != kept_.end() && !anew) return &known->second;
  ObjectReader* const objects = reader();
  if (objects == nullptr) return nullptr;
  ValueParts parts;
  if (place->method_table != 0)
    parts = ValueParts::of_value(*objects, place->method_table, place->object);
  else if (place->object != 0)
    parts = ValueParts::of_object(*objects, place->object);
  parts.set_names(place->names);
  return &kept_.insert_or_assign(*place, std::move(parts)).first->second;
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
    lldb::SBValue raw = value.GetNonSyntheticValue();
    const ValueParts* const parts = parts_of(value, false);
    if (parts == nullptr) {
      const char* const type = raw.GetTypeName();
      if (type == nullptr || kind_of_value(type) != ManagedValue::tuple) return std::nullopt;
      const std::optional<std::uint32_t> index = tuple_index(name);
      return index && *index < raw.GetNumChildren() ? std::optional<std::uint64_t>(*index) : std::nullopt;
    }
    if (const auto found = parts->find(name)) return found;
    const std::optional<Address> object = object_of(raw);
    if (!object || *object == 0) return std::nullopt;
    // A property that only returns a field is that field.
    InstanceReader instances(*reader());
    const auto field = find_returned_field(instances, instances.of_object(*object), name);
    for (std::size_t i = 0; field && i < parts->fields().size(); ++i)
      if (parts->fields()[i].at == field->at && parts->fields()[i].type == field->field->type) return i;
    return std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

void ShownValues::forget() {
  kept_.clear();
  types_by_name_.clear();
  types_.forget();
}

} // namespace clr::lldb_plugin
