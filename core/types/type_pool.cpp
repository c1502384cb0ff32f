#include "core/types/type_pool.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace clr {
namespace {

constexpr std::size_t first_slots = 64;

std::size_t hash_of(const TypeParts& parts) {
  // Numbers that follow each other, and those that differ in their high bits alone, must not be neighbours.
  std::uint64_t hash = 0;
  const auto add = [&](std::uint64_t value) {
    hash ^= value;
    hash = (hash ^ hash >> 32) * 0x9E37'79B9'7F4A'7C15;
    hash = (hash ^ hash >> 29) * 0xBF58'476D'1CE4'E5B9;
  };
  add(reinterpret_cast<std::uintptr_t>(parts.element.get()));
  for (const TypeNamePtr& argument : parts.arguments) add(reinterpret_cast<std::uintptr_t>(argument.get()));
  add(std::uint64_t{parts.index} << 8 | static_cast<std::uint64_t>(parts.shape));
  return static_cast<std::size_t>(hash ^ hash >> 32);
}

bool are_same(const TypeParts& a, const TypeName& b) {
  return a.shape == b.shape && a.element == b.element && a.arguments == b.arguments && a.index == b.index &&
         a.method_variable == b.method_variable && a.required == b.required && a.name == b.name;
}

} // namespace

bool TypePool::insert(Slot slot) {
  std::size_t i = slot.hash & (slots_.size() - 1);
  for (std::size_t left = max_probes; slots_[i].type; i = (i + 1) & (slots_.size() - 1))
    if (--left == 0) return false;
  slots_[i] = std::move(slot);
  return true;
}

void TypePool::grow() {
  std::vector<Slot> old(std::max(first_slots, 2 * slots_.size()));
  old.swap(slots_);
  count_ = 0;
  for (Slot& slot : old)
    if (slot.type && insert(std::move(slot))) ++count_;
}

TypeNamePtr TypePool::make(TypeParts parts) {
  const std::size_t hash = hash_of(parts);
  if (!slots_.empty()) {
    std::size_t i = hash & (slots_.size() - 1);
    for (std::size_t left = max_probes; left != 0 && slots_[i].type; --left) {
      if (slots_[i].hash == hash && are_same(parts, *slots_[i].type)) return slots_[i].type;
      i = (i + 1) & (slots_.size() - 1);
    }
  }
  const auto type = std::make_shared<TypeName>();
  type->shape = parts.shape;
  type->element = std::move(parts.element);
  type->arguments = std::move(parts.arguments);
  type->index = parts.index;
  type->method_variable = parts.method_variable;
  type->name = std::move(parts.name);
  type->required = parts.required;
  TypeNamePtr made = type;
  if (count_ == max_types) return made;
  // Long probes begin at a load of two thirds.
  if (3 * (count_ + 1) > 2 * slots_.size()) grow();
  if (insert({hash, made})) ++count_;
  return made;
}

} // namespace clr
