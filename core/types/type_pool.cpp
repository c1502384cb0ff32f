#include "core/types/type_pool.h"

#include <utility>

namespace clr {
namespace {

// Hash of the parts, or of the type that was made of them.
template<typename Type>
std::size_t hash_of(const Type& type) {
  constexpr std::size_t factor = 31;
  const std::hash<TypeNamePtr> pointer;
  std::size_t hash = pointer(type.element);
  const auto add = [&](std::size_t value) { hash = hash * factor + value; };
  for (const TypeNamePtr& argument : type.arguments) add(pointer(argument));
  add(static_cast<std::size_t>(type.shape));
  add(type.index);
  return hash;
}

template<typename Type>
bool are_same(const Type& a, const TypeName& b) {
  return a.shape == b.shape && a.element == b.element && a.arguments == b.arguments && a.index == b.index &&
         a.method_variable == b.method_variable && a.required == b.required && a.name == b.name;
}

} // namespace

std::size_t TypePool::Hash::operator()(const TypeParts& parts) const {
  return hash_of(parts);
}

std::size_t TypePool::Hash::operator()(const TypeNamePtr& type) const {
  return hash_of(*type);
}

bool TypePool::Same::operator()(const TypeNamePtr& a, const TypeNamePtr& b) const {
  return are_same(*a, *b);
}

bool TypePool::Same::operator()(const TypeParts& a, const TypeNamePtr& b) const {
  return are_same(a, *b);
}

TypeNamePtr TypePool::make(TypeParts parts) {
  if (const auto known = types_.find(parts); known != types_.end()) return *known;
  TypeName type;
  type.shape = parts.shape;
  type.element = std::move(parts.element);
  type.arguments = std::move(parts.arguments);
  type.index = parts.index;
  type.method_variable = parts.method_variable;
  type.name = std::move(parts.name);
  type.required = parts.required;
  TypeNamePtr made = make_type(std::move(type));
  if (types_.size() < max_types) types_.insert(made);
  return made;
}

} // namespace clr
