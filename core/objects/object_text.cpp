#include "core/objects/object_text.h"

#include "core/memory/utf8.h"
#include "core/objects/field_names.h"
#include "core/objects/fsharp_union.h"
#include "core/objects/known_values.h"
#include "core/objects/tuple_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace clr {
namespace {

constexpr std::size_t max_fault = 120; // bytes of a fault's text within a value
// Names of an enumeration that cost as much as a node of a collection.
constexpr std::uint64_t enumerators_of_step = 256;

} // namespace

ObjectText::ObjectText(ObjectReader& reader, const TextLimits& limits)
    : reader_(&reader), layouts_(&reader.layouts()), instances_(reader), limits_(limits),
      steps_(limits.steps == nullptr ? TextLimits::max_steps
                                     : std::min(*limits.steps, TextLimits::max_steps)) {
  limits_.string_units = std::min(limits_.string_units, TextLimits::max_string_units);
  limits_.depth = std::min(limits_.depth, TextLimits::max_depth);
}

std::string ObjectText::take() {
  if (limits_.steps != nullptr) *limits_.steps -= std::min(*limits_.steps, looked_at_);
  if (text_.size() > limits_.text) {
    text_.resize(cut_utf8(text_, limits_.text).size());
    text_ += "...";
  }
  return std::move(text_);
}

void ObjectText::add(std::string_view text) {
  text_ += text;
}

template<typename Act>
void ObjectText::guarded(const Act& act) {
  const unsigned depth = depth_;
  const std::size_t path = path_.size();
  if (nesting_ >= TextLimits::max_nesting) return add("...");
  ++nesting_;
  try {
    act();
  } catch (const std::exception& error) {
    std::string why = error.what();
    if (why.size() > max_fault) why = why.substr(0, max_fault) + "...";
    text_ += "<" + why + ">";
  }
  --nesting_;
  depth_ = depth;
  path_.resize(path);
}

void ObjectText::object(Address object) {
  guarded([&] { tell_object(object); });
}

void ObjectText::value(const TypeUse& type, Address at) {
  guarded([&] { tell_value(type, at); });
}

void ObjectText::number(ElementType number, Address at) {
  const std::uint64_t value = instances_.number(number, at);
  switch (number) {
  case ElementType::boolean:
    return add(value == 0 ? "false" : "true");
  case ElementType::char_:
    return add(escape(target().read_utf16_units(at, 1), '\''));
  case ElementType::r4:
    return add(format_real(std::bit_cast<float>(static_cast<std::uint32_t>(value))));
  case ElementType::r8:
    return add(format_real(std::bit_cast<double>(value)));
  default:
    add(is_signed_number(number) ? fmt::format("{}", static_cast<std::int64_t>(value))
                                 : fmt::format("{}", value));
  }
}

void ObjectText::enumeration(const TypeLayout& layout, Address at) {
  const std::uint64_t value = instances_.number(layout.number, at);
  const std::vector<const objects::Enumerator*>& all = reader_->enumerators_of(layout);
  auto next = std::ranges::lower_bound(
      all, value, std::greater(), [](const objects::Enumerator* enumerator) { return enumerator->value; });
  if (next != all.end() && (*next)->value == value) return add((*next)->name);
  const std::string digits = is_signed_number(layout.number)
                                 ? fmt::format("{}", static_cast<std::int64_t>(value))
                                 : fmt::format("{}", value);
  if (!layout.flags || value == 0) return add(digits);
  // Enum.ToString() takes the greatest values first, and prints the names in the order of their values.
  std::uint64_t rest = value, seen = 0;
  std::vector<std::string_view> names;
  for (; next != all.end() && rest != 0 && (*next)->value != 0; ++next) {
    if (++seen % enumerators_of_step == 0) ++looked_at_;
    if (steps_left() == 0) break;
    if ((rest & (*next)->value) != (*next)->value) continue;
    rest &= ~(*next)->value;
    names.push_back((*next)->name);
  }
  if (rest != 0 || names.empty()) return add(digits);
  std::reverse(names.begin(), names.end());
  add(fmt::format("{}", fmt::join(names, ", ")));
}

void ObjectText::tell_value(const TypeUse& type, Address at) {
  at = target().platform().wrap(at);
  switch (type.kind) {
  case TypeUse::Kind::number:
    return number(type.number, at);
  case TypeUse::Kind::reference:
  case TypeUse::Kind::array:
    return tell_object(target().read_pointer(at));
  case TypeUse::Kind::value: {
    const TypeLayout& layout = layouts_->of(type.method_table);
    return instance({layout, at}, 0);
  }
  case TypeUse::Kind::pointer:
  case TypeUse::Kind::byref:
    return add(fmt::format("{:#x}", target().read_pointer(at)));
  case TypeUse::Kind::nothing:
  case TypeUse::Kind::unknown:
    return add("?");
  }
}

void ObjectText::tell_object(Address object) {
  object = target().platform().wrap(object);
  if (object == 0) return add("null");
  const TypeLayout& layout = layouts_->of(reader_->method_table_of(object));
  if (layout.kind == TypeLayout::Kind::string) return string(object);
  const bool told = std::find(path_.begin(), path_.end(), object) != path_.end();
  // A box does not count as a level of its own.
  if (told || (depth_ >= limits_.depth && !layout.table.is_value_type()))
    return add(fmt::format("{{{}}}", layout.text));
  path_.push_back(object);
  if (layout.kind == TypeLayout::Kind::array)
    array(layout, object);
  else
    instance({layout, object + target().pointer_size()}, object);
  path_.pop_back();
}

// `object` is the object of the instance; 0 for a value within something else.
void ObjectText::instance(const Instance& what, Address object) {
  const TypeLayout& layout = what.layout;
  const bool boxed = object != 0 && layout.table.is_value_type();
  // Within another value, the type of a box is not worth its space.
  if (boxed && depth_ == 0) add(fmt::format("({}) ", layout.text));
  switch (layout.kind) {
  case TypeLayout::Kind::number:
    return number(layout.number, what.fields);
  case TypeLayout::Kind::enumeration:
    return enumeration(layout, what.fields);
  case TypeLayout::Kind::value:
    if (!known_value(what)) structure(what);
    return;
  default:
    if (known_object(layout, object)) return;
    // The name of an anonymous type tells nothing.
    if (is_anonymous(layout.text)) return structure(what);
    add(fmt::format("{{{}}}", layout.text));
  }
}

void ObjectText::string(Address object) {
  const std::uint32_t units = target().read_u32(target().field_address(object, "String", "m_StringLength"));
  const Address data = target().field_address(object, "String", "m_FirstChar");
  std::size_t shown = std::min<std::size_t>(units, limits_.string_units);
  // A pair of surrogates is one character, so it is not cut.
  if (shown < units && shown > 0 && (target().read_u16(data + 2 * (shown - 1)) & 0xFC00) == 0xD800) --shown;
  std::string text = escape(target().read_utf16_units(data, shown), '"');
  if (shown < units) text += fmt::format("... ({} characters)", units);
  add(text);
}

void ObjectText::array(const TypeLayout& layout, Address object) {
  const std::uint32_t count = target().read_u32(target().field_address(object, "Array", "m_NumComponents"));
  Address data = object + target().size_of("Array");
  const std::string element = format_type(*layout.element->name);
  std::vector<std::uint64_t> lengths{count};
  if (!layout.table.is_szarray()) {
    lengths.clear();
    std::uint64_t product = 1;
    for (std::uint32_t i = 0; i < layout.rank; ++i) {
      lengths.push_back(target().read_u32(data + i * sizeof(std::uint32_t)));
      if (lengths.back() != 0 && product > UINT32_MAX / lengths.back()) product = UINT64_MAX >> 32;
      product *= lengths.back();
    }
    if (product != count)
      throw_corrupt(object, fmt::format("an array of {} elements in {} places", count, product));
    data += 2 * sizeof(std::uint32_t) * layout.rank; // lengths and lower bounds
  }
  add(fmt::format("{}[{}]", element, fmt::join(lengths, ",")));
  if (count == 0) return;
  add(" ");
  ++depth_;
  array_items(layout, data, lengths);
  --depth_;
}

void ObjectText::array_items(const TypeLayout& layout, Address data,
                             const std::vector<std::uint64_t>& lengths) {
  std::uint64_t count = 1;
  for (const std::uint64_t length : lengths) count *= length;
  const std::uint64_t row = lengths.back();
  const bool rows = lengths.size() > 1;
  add("{");
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i >= limits_.elements || full()) {
      add(i == 0 ? "..." : ", ...");
      break;
    }
    if (i != 0) add(rows && i % row == 0 ? "}, " : ", ");
    if (rows && i % row == 0) add("{");
    value(*layout.element, data + i * layout.element_size);
  }
  add(rows ? "}}" : "}");
}

void ObjectText::structure(const Instance& what) {
  if (depth_ >= limits_.depth) return add("{...}");
  ++depth_;
  add("{");
  std::size_t shown = 0;
  for (const FieldLayout* const part : what.layout.declared_fields()) {
    if (shown != 0) add(", ");
    if (shown++ >= limits_.elements || full()) {
      add("...");
      break;
    }
    add(written_name(part->name) + " = ");
    value(*part->type, what.fields + part->offset);
  }
  add("}");
  --depth_;
}

bool ObjectText::union_value(const Instance& what) {
  const std::optional<UnionCase> found = union_case(instances_, what);
  if (!found) return false;
  add(found->name);
  if (found->fields.empty()) return true;
  if (depth_ >= limits_.depth) return add("(...)"), true;
  ++depth_;
  add("(");
  for (std::size_t i = 0; i < found->fields.size(); ++i) {
    if (i != 0) add(", ");
    if (i >= limits_.elements || full()) {
      add("...");
      break;
    }
    const FieldLayout& field = *found->fields[i].field;
    value(*field.type, what.fields + field.offset);
  }
  add(")");
  --depth_;
  return true;
}

// ("a", 1), with the elements behind the seventh, which the compiler nests; [key, value] of a pair.
void ObjectText::tuple(const Instance& what) {
  if (depth_ >= limits_.depth) return add("(...)");
  const bool pair = framework_type_name(*what.layout.name) == "System.Collections.Generic.KeyValuePair`2";
  std::vector<TupleElement> elements = tuple_elements(
      *layouts_,
      {.kind = TypeUse::Kind::value, .method_table = what.layout.table.address, .name = what.layout.name});
  if (elements.empty()) {
    // Of a class or a pair.
    for (const FieldLayout* const field : what.layout.declared_fields())
      elements.push_back({.name = {}, .type = field->type, .offset = field->offset});
  }
  ++depth_;
  add(pair ? "[" : "(");
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (i != 0) add(", ");
    if (i >= limits_.elements || full()) {
      add("...");
      break;
    }
    value(*elements[i].type, what.fields + elements[i].offset);
  }
  add(pair ? "]" : ")");
  --depth_;
}

} // namespace clr
