#include "core/heap/heap_types.h"

namespace clr {

HeapTypes::HeapTypes(const Target& target)
    : target_(&target), flags_(static_cast<Address>(target.offset("MethodTable", "MTFlags"))),
      base_size_(static_cast<Address>(target.offset("MethodTable", "BaseSize"))) {}

std::optional<std::uint32_t> HeapTypes::known(Address method_table) {
  const std::lock_guard lock(mutex_);
  const auto found = numbers_.find(method_table);
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::uint32_t> HeapTypes::find(Address method_table, const char*& why) {
  if (const auto number = known(method_table)) return number;
  const unsigned width = target_->pointer_size();
  if (method_table == 0 || method_table % width != 0) {
    why = method_table == 0 ? "no object begins there" : "no type can be at an odd address";
    return std::nullopt;
  }
  HeapType type{.method_table = method_table};
  try {
    const std::lock_guard lock(reading_);
    type.flags = target_->read_u32(method_table + flags_);
    type.base_size = target_->read_u32(method_table + base_size_);
  } catch (const Error&) {
    why = "the object's type cannot be read";
    return std::nullopt;
  }
  if (type.has_elements()) type.component_size = type.flags & 0xffff;
  if (type.base_size < 2 * width || type.base_size > max_base_size ||
      (!type.has_elements() && type.base_size % width != 0)) {
    why = "the object's type has an impossible size";
    return std::nullopt;
  }
  const std::lock_guard lock(mutex_);
  if (types_.size() >= max_types) {
    why = "the heap has too many types";
    return std::nullopt;
  }
  const auto [entry, added] = numbers_.try_emplace(method_table, static_cast<std::uint32_t>(types_.size()));
  if (added) types_.push_back(type);
  return entry->second;
}

HeapType HeapTypes::at(std::uint32_t number) {
  const std::lock_guard lock(mutex_);
  return types_[number];
}

std::uint32_t HeapTypes::count() {
  const std::lock_guard lock(mutex_);
  return static_cast<std::uint32_t>(types_.size());
}

} // namespace clr
