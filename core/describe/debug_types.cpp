#include "core/describe/debug_types.h"

#include "core/describe/number_types.h"
#include "core/objects/field_names.h"
#include "core/objects/tuple_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace clr {

DebugTypes::DebugTypes(TypeLayouts& layouts, std::vector<DebugType>& types, Omissions& omissions,
                       std::function<bool(Address)> is_users, const Limits& limits)
    : layouts_(&layouts), module_types_(&types), omissions_(&omissions), is_users_(std::move(is_users)),
      limits_(limits) {}

void DebugTypes::omit(OmittedPart part, OmissionCause cause, const std::string& of, std::string text) {
  omissions_->add({.part = part, .cause = cause, .of = of, .reading = {}, .text = std::move(text)});
}

bool DebugTypes::is_full(std::size_t limit, const std::string& name) {
  if (module_types_->size() < limit) return false;
  omit(OmittedPart::type, OmissionCause::limit, name, fmt::format("a module has {} types at most", limit));
  return true;
}

std::string DebugTypes::name_of(const TypeName& name) const {
  std::string text = format_type(name);
  // Classes by their whole names: a C++ program may have types of its own that are called as C#'s keywords
  // are.
  if (text == "string") text = "System.String";
  if (text == "object") text = "System.Object";
  if (text.size() > max_name) text = text.substr(0, max_name) + "...";
  return text;
}

DebugTypeIndex DebugTypes::add(DebugType type) {
  (*module_types_).push_back(std::move(type));
  return static_cast<DebugTypeIndex>((*module_types_).size() - 1);
}

DebugTypeIndex DebugTypes::to(DebugType::Kind kind, DebugTypeIndex element) {
  const std::uint64_t key = static_cast<std::uint64_t>(kind) << 32 | element;
  const auto [slot, is_new] = indirect_.try_emplace(key, no_debug_type);
  if (is_new)
    slot->second =
        add({.kind = kind, .size = layouts_->finder().target().pointer_size(), .element = element});
  return slot->second;
}

DebugTypeIndex DebugTypes::of(const TypeUse& type, unsigned distance) {
  switch (type.kind) {
  case TypeUse::Kind::nothing:
    return no_debug_type;
  case TypeUse::Kind::number:
    return number(type.number);
  case TypeUse::Kind::value:
    return value(type, distance);
  case TypeUse::Kind::reference:
    if (type.method_table != 0)
      return to(DebugType::Kind::reference,
                type.names_within ? object_with_names(type, distance) : object(type.method_table, distance));
    return to(DebugType::Kind::reference, named_object(name_of(*type.name)));
  case TypeUse::Kind::array:
    return to(DebugType::Kind::reference, array_object(type, distance));
  case TypeUse::Kind::pointer:
  case TypeUse::Kind::byref:
    return to(DebugType::Kind::pointer, type.element ? of(*type.element, distance) : no_debug_type);
  case TypeUse::Kind::unknown:
    break;
  }
  const std::string name = name_of(*type.name);
  const auto [slot, is_new] = by_name_.try_emplace("?" + name, no_debug_type);
  if (is_new && !is_full(limits_.embedded, name)) {
    slot->second = add({.kind = DebugType::Kind::opaque, .name = name});
    omit(OmittedPart::type, OmissionCause::partial, name,
         "the type is not loaded, or its handle cannot be read");
  }
  return slot->second;
}

DebugTypeIndex DebugTypes::number(ElementType number) {
  const std::string name = name_of(*primitive_type(number));
  const auto [slot, is_new] = by_name_.try_emplace(name, no_debug_type);
  if (is_new)
    slot->second = add({.kind = kind_of(number),
                        .name = name,
                        .size = size_of_number(number, layouts_->finder().target().pointer_size())});
  return slot->second;
}

// A value type is part of what holds it, so it is complete at once.
DebugTypeIndex DebugTypes::value(const TypeUse& type, unsigned distance) {
  // One type of the runtime is several of the source's: each has its own names of elements.
  const std::string named = type.tuple_names || type.names_within
                                ? fmt::format("tuple {} {:#x}", name_of(*type.name), type.method_table)
                                : std::string();
  if (const auto known = by_name_.find(named); !named.empty() && known != by_name_.end())
    return known->second;
  if (const auto known = by_table_.find(type.method_table); named.empty() && known != by_table_.end())
    return known->second.index;
  const auto keep = [&](DebugTypeIndex index) {
    if (named.empty())
      by_table_[type.method_table] = {.index = index, .expanded = true};
    else
      by_name_[named] = index;
  };
  DebugType made{.kind = DebugType::Kind::opaque, .name = name_of(*type.name)};
  const TypeLayout* layout = nullptr;
  try {
    layout = &layouts_->of(type.method_table);
    made.size = layout->size;
  } catch (const Error& error) {
    omissions_->add(OmittedPart::type, made.name, "the layout", error); // its name is left
  }
  if (is_full(limits_.embedded, made.name)) {
    keep(no_debug_type);
    return no_debug_type;
  }
  const DebugTypeIndex index = add(made);
  keep(index);
  if (layout == nullptr) return index;
  if (nesting_ >= max_nesting) {
    omit(OmittedPart::members, OmissionCause::limit, made.name,
         fmt::format("values are described {} deep", max_nesting));
    return index;
  }
  if (layout->kind == TypeLayout::Kind::enumeration) {
    const DebugTypeIndex under = number(layout->number);
    DebugType& enumeration = (*module_types_)[index];
    enumeration.kind = DebugType::Kind::enumeration;
    enumeration.element = under;
    if (!layout->flags)
      if (const auto number = plain_number(*layout)) enumeration.enumerators.push_back(*number);
    for (const objects::Enumerator& enumerator : layout->enumerators)
      enumeration.enumerators.push_back(
          {.name = enumerator.name, .value = static_cast<std::int64_t>(enumerator.value)});
    return index;
  }
  made.kind = DebugType::Kind::structure;
  ++nesting_;
  if (!add_elements(made, type, distance)) add_fields(made, *layout, distance);
  --nesting_;
  (*module_types_)[index] = std::move(made);
  return index;
}

DebugTypeIndex DebugTypes::plain_object() {
  if (plain_object_ != no_debug_type) return plain_object_;
  const unsigned pointer = layouts_->finder().target().pointer_size();
  const DebugTypeIndex table = to(DebugType::Kind::pointer, no_debug_type);
  DebugType type{.kind = DebugType::Kind::object, .name = "System.Object", .size = pointer};
  type.fields.push_back({.name = "m_pMethTab", .type = table, .artificial = true});
  return plain_object_ = add(std::move(type));
}

// Objects of a type of which only the name is known.
DebugTypeIndex DebugTypes::named_object(const std::string& name) {
  const DebugTypeIndex base = plain_object();
  if (name == "System.Object") return base;
  const auto [slot, is_new] = by_name_.try_emplace("class " + name, no_debug_type);
  if (!is_new) return slot->second;
  if (is_full(limits_.types, name)) return slot->second = base;
  DebugType type{.kind = DebugType::Kind::object, .name = name, .size = (*module_types_)[base].size};
  type.fields.push_back({.type = base, .base = true});
  return slot->second = add(std::move(type));
}

DebugTypeIndex DebugTypes::object(Address method_table, unsigned distance) {
  const auto known = by_table_.find(method_table);
  if (known != by_table_.end()) {
    if (!known->second.expanded && distance < known->second.distance) {
      known->second.distance = distance;
      pending_.push_back({known->second.index, method_table, distance, false});
    }
    return known->second.index;
  }
  const DebugTypeIndex base = plain_object();
  DebugTypeIndex index = base;
  try {
    const RuntimeType& type = layouts_->finder().names().types().type(method_table);
    const std::string name = type.name ? name_of(*type.name) : std::string("?");
    if ((type.table.parent != 0 || name != "System.Object") && !is_full(limits_.types, name)) {
      DebugType made{.kind = DebugType::Kind::object, .name = name, .size = (*module_types_)[base].size};
      made.fields.push_back({.type = base, .base = true});
      index = add(std::move(made));
      pending_.push_back({index, method_table, distance, false});
    }
  } catch (const Error& error) {
    // It is an object all the same.
    omissions_->add(OmittedPart::type, fmt::format("MethodTable {:#x}", method_table), "the name", error);
  }
  by_table_[method_table] = {.index = index, .distance = distance, .expanded = index == base};
  return index;
}

// A collection of tuples whose elements have names.
DebugTypeIndex DebugTypes::object_with_names(const TypeUse& type, unsigned distance) {
  const std::string name = name_of(*type.name);
  const auto [slot, is_new] =
      by_name_.try_emplace(fmt::format("names {} {:#x}", name, type.method_table), no_debug_type);
  if (!is_new) return slot->second;
  if (is_full(limits_.types, name)) return slot->second = object(type.method_table, distance);
  const DebugTypeIndex base = plain_object();
  DebugType made{.kind = DebugType::Kind::object, .name = name, .size = (*module_types_)[base].size};
  made.fields.push_back({.type = base, .base = true});
  slot->second = add(std::move(made));
  pending_.push_back({slot->second, type.method_table, distance, true});
  return slot->second;
}

DebugTypeIndex DebugTypes::array_object(const TypeUse& type, unsigned distance) {
  const std::string name = name_of(*type.name);
  // Two element types may have one name: of several versions of an assembly, or not loaded.
  const std::string key = fmt::format(
      "{} {:#x}", name, type.element && type.element->method_table != 0 ? type.element->method_table : 0);
  if (const auto known = by_name_.find(key); known != by_name_.end()) return known->second;
  const DebugTypeIndex base = plain_object();
  if (is_full(limits_.types, name)) {
    by_name_.emplace(key, base);
    return base;
  }
  const Target& target = layouts_->finder().target();
  const DebugTypeIndex index = add({.kind = DebugType::Kind::object, .name = name});
  by_name_.emplace(key, index); // the element may lead back to the array
  DebugType made{.kind = DebugType::Kind::object, .name = name};
  made.fields.push_back({.type = base, .base = true});
  try {
    const auto data = static_cast<std::uint32_t>(target.size_of("Array"));
    const auto length = static_cast<std::uint32_t>(target.offset("Array", "m_NumComponents"));
    const DebugTypeIndex count = number(ElementType::i4);
    made.fields.push_back({.name = "Length", .type = count, .offset = length});
    made.size = data;
    if (!type.vector) {
      constexpr std::uint32_t bound = sizeof(std::int32_t);
      const DebugTypeIndex bounds = add(
          {.kind = DebugType::Kind::array, .size = bound * type.rank, .element = count, .count = type.rank});
      made.fields.push_back({.name = "Lengths", .type = bounds, .offset = data});
      made.fields.push_back({.name = "LowerBounds", .type = bounds, .offset = data + bound * type.rank});
      made.size = data + 2 * bound * type.rank;
    }
    const DebugTypeIndex element = type.element ? of(*type.element, distance) : no_debug_type;
    if (element != no_debug_type && (*module_types_)[element].size != 0) {
      const DebugTypeIndex items = add({.kind = DebugType::Kind::array, .element = element});
      made.fields.push_back({.name = "Items", .type = items, .offset = made.size});
    }
  } catch (const Error& error) {
    omissions_->add(OmittedPart::members, name, "the layout of arrays", error);
    made.size = std::max(made.size, (*module_types_)[base].size);
  }
  (*module_types_)[index] = std::move(made);
  return index;
}

void DebugTypes::complete() {
  while (!pending_.empty()) {
    const Pending next = pending_.front();
    pending_.pop_front();
    try {
      expand(next);
    } catch (const Error& error) {
      // The type stays an object with a name.
      omissions_->add(OmittedPart::type, (*module_types_)[next.index].name, "the layout", error);
    }
  }
}

void DebugTypes::expand(const Pending& pending) {
  if (all_fields_ > max_all_fields) return; // told where that was reached
  if (!pending.named) {
    const Known& known = by_table_[pending.method_table];
    if (known.expanded || pending.distance > known.distance) return;
  }
  const TypeLayout& layout = layouts_->of(pending.method_table);
  const bool users = layout.module != 0 && is_users_(layout.module);
  if (!users && pending.distance > max_distance) return;
  if (!pending.named) by_table_[pending.method_table].expanded = true;
  DebugType made{
      .kind = DebugType::Kind::object, .name = (*module_types_)[pending.index].name, .size = layout.size};
  const unsigned distance = users ? 0 : pending.distance;
  if (layout.kind == TypeLayout::Kind::array) {
    // As the base of nothing, an array reached by its MethodTable is like one reached by its signature.
    const TypeUsePtr use = layouts_->finder().of_handle(pending.method_table);
    if (use->kind == TypeUse::Kind::array)
      (*module_types_)[pending.index].fields = (*module_types_)[array_object(*use, distance)].fields;
    return;
  }
  DebugTypeIndex base = plain_object();
  if (layout.table.parent != 0) base = object(layout.table.parent, distance);
  if (base != pending.index) made.fields.push_back({.type = base, .base = true});
  add_fields(made, layout, distance);
  (*module_types_)[pending.index] = std::move(made);
}

// The elements of a tuple by their names; false: it is none.
bool DebugTypes::add_elements(DebugType& type, const TypeUse& use, unsigned distance) {
  std::vector<TupleElement> elements;
  try {
    elements = tuple_elements(*layouts_, use);
  } catch (const Error&) {
    return false; // it is described as any structure
  }
  for (TupleElement& element : elements) {
    const DebugTypeIndex index =
        of(*element.type, distance + (element.type->kind == TypeUse::Kind::value ? 0 : 1));
    if (index == no_debug_type || (*module_types_)[index].size == 0 ||
        std::uint64_t{element.offset} + (*module_types_)[index].size > type.size)
      continue;
    type.fields.push_back({.name = std::move(element.name), .type = index, .offset = element.offset});
  }
  return !elements.empty();
}

void DebugTypes::add_fields(DebugType& type, const TypeLayout& layout, unsigned distance) {
  if (!layout.problem.empty()) omit(OmittedPart::members, OmissionCause::partial, type.name, layout.problem);
  const bool is_value = layout.table.is_value_type();
  const std::uint32_t header = is_value ? 0 : layouts_->finder().target().pointer_size();
  std::set<std::string> names;
  for (const FieldLayout& field : layout.fields) names.insert(field.name);
  std::uint64_t end = 0; // of the fields so far: those that overlap have no place in a structure
  std::vector<std::pair<std::uint32_t, DebugField>> fields; // by token: as the source declares them
  std::string overlapping;
  for (const FieldLayout& field : layout.fields) {
    if (type.fields.size() + fields.size() >= max_fields || ++all_fields_ > max_all_fields) {
      omit(OmittedPart::members, OmissionCause::limit, type.name,
           fmt::format("a type has {} fields at most, and a module {}", max_fields, max_all_fields));
      break;
    }
    if (field.name.empty() || (field.is_static && !field.address)) continue;
    DebugTypeIndex index = of(*field.type, distance + (field.type->kind == TypeUse::Kind::value ? 0 : 1));
    if (index == no_debug_type) continue;
    if (layout.repeats > 1 && !field.is_static) {
      const auto byte = as_whole_byte((*module_types_)[index]);
      const DebugTypeIndex element = byte ? add(*byte) : index;
      index = add(
          {.kind = DebugType::Kind::array, .size = layout.size, .element = element, .count = layout.repeats});
    }
    const std::uint32_t size = (*module_types_)[index].size;
    DebugField made{.name = source_name_of_field(field.name), .type = index};
    if (made.name != field.name && names.contains(made.name)) made.name = field.name;
    if (field.is_static) {
      made.static_address = field.address;
      made.static_boxed = field.boxed;
    } else {
      if (size == 0 || field.offset < end || std::uint64_t{field.offset} + size > type.size - header) {
        if (size != 0) overlapping += (overlapping.empty() ? "" : ", ") + made.name;
        continue;
      }
      end = std::uint64_t{field.offset} + size;
      made.offset = header + field.offset;
    }
    fields.emplace_back(field.token, std::move(made));
  }
  std::ranges::stable_sort(fields, {}, [](const auto& field) {
    return std::pair(field.second.static_address.has_value(), field.first);
  });
  for (auto& [token, field] : fields) type.fields.push_back(std::move(field));
  if (!overlapping.empty())
    omit(OmittedPart::members, OmissionCause::no_place, type.name, std::move(overlapping));
}

} // namespace clr
