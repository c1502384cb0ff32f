#include "core/dwarf/type_check.h"

#include "core/dwarf/string_section.h"

#include <algorithm>

namespace clr {
namespace {

using Kind = DebugType::Kind;

// LLDB shows no more elements of an array.
constexpr std::uint64_t shown_elements = 256;

bool is_record(Kind kind) {
  return kind == Kind::structure || kind == Kind::object;
}

bool is_number_size(std::uint32_t size) {
  return size == 1 || size == 2 || size == 4 || size == 8 || size == 16;
}

} // namespace

TypeCheck::TypeCheck(const DebugModule& module) : module_(&module), types_(module.types.size()) {
  for (std::size_t i = 0; i < types_.size(); ++i) check_from(static_cast<DebugTypeIndex>(i));
}

bool TypeCheck::is_value(DebugTypeIndex type) const {
  return usable(type) && module_->types[type].kind != Kind::object;
}

std::vector<DebugTypeIndex> TypeCheck::parts(DebugTypeIndex index) const {
  const DebugType& type = module_->types[index];
  std::vector<DebugTypeIndex> found;
  if (type.kind == Kind::array || type.kind == Kind::enumeration) found.push_back(type.element);
  if (is_record(type.kind))
    for (const DebugField& field : type.fields)
      if (!field.static_address) found.push_back(field.type);
  std::erase_if(found, [&](DebugTypeIndex part) { return part >= types_.size(); });
  return found;
}

// Depth first, without recursion: values may be within values as deep as there are types.
void TypeCheck::check_from(DebugTypeIndex first) {
  struct Step {
    DebugTypeIndex type;
    std::vector<DebugTypeIndex> parts;
  };
  if (types_[first].state != State::unseen) return;
  std::vector<Step> path;
  const auto enter = [&](DebugTypeIndex type) {
    types_[type].state = State::open;
    path.push_back({type, parts(type)});
  };
  enter(first);
  while (!path.empty()) {
    Step& step = path.back();
    if (step.parts.empty()) {
      finish(step.type);
      types_[step.type].state = State::done;
      path.pop_back();
      continue;
    }
    const DebugTypeIndex part = step.parts.back();
    step.parts.pop_back();
    if (types_[part].state == State::unseen) enter(part);
  }
}

void TypeCheck::finish(DebugTypeIndex index) {
  const DebugType& type = module_->types[index];
  Info& info = types_[index];
  info.size = type.size;
  const bool named = is_usable_name(type.name);
  switch (type.kind) {
  case Kind::boolean:
  case Kind::signed_integer:
  case Kind::unsigned_integer:
    info.usable = named && is_number_size(type.size);
    return;
  case Kind::floating:
    info.usable = named && (type.size == 4 || type.size == 8);
    return;
  case Kind::character:
    info.usable = named && (type.size == 1 || type.size == 2 || type.size == 4);
    return;
  case Kind::reference:
  case Kind::pointer:
    info.size = module_->platform.pointer_size;
    info.usable = true;
    return;
  case Kind::enumeration:
    info.usable = named && type.element < types_.size() && types_[type.element].state == State::done &&
                  types_[type.element].usable;
    if (!info.usable) return;
    info.size = types_[type.element].size;
    switch (module_->types[type.element].kind) {
    case Kind::boolean:
    case Kind::character:
    case Kind::signed_integer:
    case Kind::unsigned_integer:
      return;
    default:
      info.usable = false;
      return;
    }
  case Kind::array:
    return finish_array(type, info);
  case Kind::opaque:
    info.usable = named && type.size <= max_value_size;
    return;
  case Kind::structure:
  case Kind::object:
    return finish_record(type, info);
  }
}

void TypeCheck::finish_array(const DebugType& type, Info& info) {
  if (type.element >= types_.size() || types_[type.element].state != State::done || !is_value(type.element))
    return;
  const Info& element = types_[type.element];
  if (element.size != 0 && type.count > max_value_size / element.size) return;
  info.size = element.size * type.count;
  info.depth = element.depth + 1;
  info.leaves = element.leaves * std::clamp<std::uint64_t>(type.count, 1, shown_elements);
  info.usable = info.depth <= max_value_depth && info.leaves <= max_value_leaves;
}

bool TypeCheck::is_base(const DebugType& type, const DebugField& field) const {
  return is_record(module_->types[field.type].kind) &&
         (type.kind == Kind::object || module_->types[field.type].kind == Kind::structure);
}

void TypeCheck::finish_record(const DebugType& type, Info& info) {
  info.usable = is_usable_name(type.name) && type.size <= max_value_size;
  info.fields.resize(type.fields.size());
  std::uint64_t end = 0, base_end = 0;
  // The base first: nothing else begins within it.
  for (const bool bases : {true, false}) {
    for (std::size_t i = 0; i < type.fields.size(); ++i) {
      const DebugField& field = type.fields[i];
      if (field.base != bases || field.static_address || field.type >= types_.size()) continue;
      const Info& part = types_[field.type];
      if (part.state != State::done || !part.usable || part.depth >= max_value_depth) continue;
      if (bases ? base_end != 0 || !is_base(type, field) : !is_value(field.type)) continue;
      if (!bases && !is_usable_name(field.name)) continue;
      if (field.offset < base_end || field.offset + part.size > type.size) continue;
      if (info.leaves + part.leaves > max_value_leaves) continue;
      info.fields[i] = true;
      info.leaves += part.leaves;
      info.depth = std::max(info.depth, part.depth + 1);
      end = std::max(end, field.offset + part.size);
      if (bases) base_end = end;
    }
  }
  // The room between the last field and the end of an object may hold fields of a derived class.
  if (type.kind == Kind::object && end != 0) info.size = end;
}

} // namespace clr
