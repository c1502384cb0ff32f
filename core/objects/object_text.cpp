#include "core/objects/object_text.h"

#include "core/memory/utf8.h"
#include "core/objects/known_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace clr {
namespace {

constexpr std::size_t max_fault = 120; // bytes of a fault's text within a value

// "Place" of "<Place>k__BackingField" and "i" of "<i>5__2", as somebody wrote it; what the compiler alone
// has,
// "<>1__state", as it is.
std::string written_name(const std::string& name) {
  const std::size_t end = name.find('>');
  if (!name.starts_with('<') || end == std::string::npos || end == 1) return name;
  return name.substr(1, end - 1);
}

} // namespace

ObjectText::ObjectText(ObjectReader& reader, const TextLimits& limits)
    : reader_(&reader), layouts_(&reader.layouts()), instances_(reader), limits_(limits) {
  limits_.string_units = std::min(limits_.string_units, TextLimits::max_string_units);
  limits_.depth = std::min(limits_.depth, TextLimits::max_depth);
}

std::string ObjectText::take() {
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
  for (const objects::Enumerator& enumerator : layout.enumerators)
    if (enumerator.value == value) return add(enumerator.name);
  const std::string digits = is_signed_number(layout.number)
                                 ? fmt::format("{}", static_cast<std::int64_t>(value))
                                 : fmt::format("{}", value);
  if (!layout.flags || value == 0) return add(digits);
  // Enum.ToString() takes the greatest values first, and prints the names in the order of their values.
  std::vector<const objects::Enumerator*> by_value;
  for (const objects::Enumerator& enumerator : layout.enumerators)
    if (enumerator.value != 0) by_value.push_back(&enumerator);
  std::stable_sort(
      by_value.begin(), by_value.end(),
      [](const objects::Enumerator* a, const objects::Enumerator* b) { return a->value > b->value; });
  std::uint64_t rest = value;
  std::vector<std::string_view> names;
  for (const objects::Enumerator* enumerator : by_value) {
    if ((rest & enumerator->value) != enumerator->value) continue;
    rest &= ~enumerator->value;
    names.push_back(enumerator->name);
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
    if (!known_object(layout, object)) add(fmt::format("{{{}}}", layout.text));
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
  for (const FieldLayout& part : what.layout.fields) {
    if (part.is_static) continue;
    if (shown != 0) add(", ");
    if (shown++ >= limits_.elements || full()) {
      add("...");
      break;
    }
    add(written_name(part.name) + " = ");
    value(*part.type, what.fields + part.offset);
  }
  add("}");
  --depth_;
}

} // namespace clr
