#include "core/objects/object_reader.h"

#include "core/objects/fsharp_union.h"
#include "core/objects/object_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace clr {

Address ObjectReader::method_table_of(Address object) const {
  object = target_->platform().wrap(object);
  if (object == 0 || object % target_->pointer_size() != 0) throw_corrupt(object, "no object can lie");
  // While the garbage collector works, it marks objects in the low bits.
  const Address mask =
      target_->find_global("ObjectToMethodTableUnmask").value_or(target_->pointer_size() - 1);
  const Address table = target_->read_pointer(target_->field_address(object, "Object", "m_pMethTab")) & ~mask;
  if (table == 0) throw_corrupt(object, "an object without a type");
  return table;
}

const UnionType* ObjectReader::union_of(const TypeLayout& layout) {
  const auto [slot, is_new] = unions_.try_emplace(layout.table.address);
  if (is_new) {
    std::shared_ptr<const UnionType> made;
    try {
      if (auto type = read_union_type(*this, layout))
        made = std::make_shared<const UnionType>(std::move(*type));
    } catch (const Error&) {
      // It is shown by its fields.
    }
    return (unions_[layout.table.address] = std::move(made)).get();
  }
  return slot->second.get();
}

// What is found for a type holds for those that are derived from it, so that no type's fields are looked
// through twice for a name.
const FieldLayout* ObjectReader::field_of(const TypeLayout& layout, std::string_view name) {
  if (known_fields_ >= max_known_fields) {
    fields_.clear();
    known_fields_ = 0;
  }
  auto kept = fields_.find(name);
  if (kept == fields_.end()) kept = fields_.emplace(name, decltype(fields_)::mapped_type()).first;
  auto& by_type = kept->second;
  if (const auto known = by_type.find(&layout); known != by_type.end()) {
    if (known->second.fault) std::rethrow_exception(known->second.fault);
    return known->second.field;
  }
  const std::array<std::string, 3> names{std::string(name), fmt::format("<{}>k__BackingField", name),
                                         fmt::format("{}@", name)}; // the last one is F#'s
  std::vector<const TypeLayout*> asked;
  KnownField found;
  for (const TypeLayout* type = &layout;;) {
    if (const auto known = by_type.find(type); known != by_type.end()) {
      found = known->second;
      break;
    }
    asked.push_back(type);
    for (const std::string& one : names)
      if (found.field == nullptr) found.field = type->field(one);
    if (found.field != nullptr || type->table.parent == 0) break;
    if (asked.size() == TypeLayouts::max_base_types) {
      asked.resize(1); // a base type could have been asked for more of its own
      break;
    }
    try {
      type = &layouts_.of(type->table.parent);
    } catch (const Error&) {
      found.fault = std::current_exception();
      break;
    }
  }
  for (const TypeLayout* const type : asked) by_type.emplace(type, found);
  known_fields_ += asked.size();
  if (found.fault) std::rethrow_exception(found.fault);
  return found.field;
}

const std::vector<const objects::Enumerator*>& ObjectReader::enumerators_of(const TypeLayout& layout) {
  const auto [slot, is_new] = enumerators_.try_emplace(&layout);
  if (is_new) {
    for (const objects::Enumerator& enumerator : layout.enumerators) slot->second.push_back(&enumerator);
    std::ranges::stable_sort(slot->second, std::greater(),
                             [](const objects::Enumerator* enumerator) { return enumerator->value; });
  }
  return slot->second;
}

std::string ObjectReader::describe_object(Address object, const TextLimits& limits) {
  ObjectText text(*this, limits);
  text.object(object);
  return text.take();
}

std::string ObjectReader::describe_value(const TypeUse& type, Address address, const TextLimits& limits) {
  ObjectText text(*this, limits);
  text.value(type, address);
  return text.take();
}

} // namespace clr
