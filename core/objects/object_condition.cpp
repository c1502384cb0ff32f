#include "core/objects/object_condition.h"

#include "core/memory/utf8.h"
#include "core/objects/inspected_object.h"
#include "core/objects/instance_reader.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <utility>

namespace clr {
namespace {

// Where the comparison begins in `text`: behind brackets, quotes, and the angle brackets of names that a
// compiler made.
std::size_t find_sign(std::string_view text) {
  char quote = 0;
  unsigned depth = 0;
  bool step = true; // a name begins here
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (depth != 0) {
      if (c == '[' || c == '<') ++depth;
      if (c == ']' || c == '>') --depth;
      if (c == '"' || c == '\'') quote = c;
    } else if (c == '[' || (c == '<' && step)) {
      ++depth;
    } else if (c == '=' || c == '<' || c == '>' || (c == '!' && text.substr(i + 1).starts_with('='))) {
      return i;
    }
    step = c == '.';
  }
  return std::string_view::npos;
}

template<typename Number>
std::optional<Number> number_of(const std::string& text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  return read.ec == std::errc{} && read.ptr == end ? std::optional(number) : std::nullopt;
}

std::optional<std::uint64_t> hex_of(std::string_view text) {
  if (!text.starts_with("0x")) return std::nullopt;
  std::uint64_t number = 0;
  const auto read = std::from_chars(text.data() + 2, text.data() + text.size(), number, 16);
  return read.ec == std::errc{} && read.ptr == text.data() + text.size() ? std::optional(number)
                                                                         : std::nullopt;
}

template<typename A, typename B>
int order_of(const A& a, const B& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

bool is_whole_number(ElementType number) {
  switch (number) {
  case ElementType::i1:
  case ElementType::u1:
  case ElementType::i2:
  case ElementType::u2:
  case ElementType::i4:
  case ElementType::u4:
  case ElementType::i8:
  case ElementType::u8:
    return true;
  default:
    return false;
  }
}

// Whether `wanted` ("1970-01-01", "1970-01-01T12:30") is a whole part of the time `text` ("1970-01-01
// 12:30:15.5 UTC").
bool is_within(std::string_view text, std::string_view wanted) {
  constexpr std::size_t day = 10;
  if (text.size() <= day || wanted.size() < day || wanted.size() >= text.size() || text[4] != '-' ||
      text[7] != '-')
    return false;
  std::string same(wanted);
  if (same.size() > day && same[day] == 'T') same[day] = ' ';
  return text.starts_with(same) && std::string_view(" :.").find(text[same.size()]) != std::string_view::npos;
}

[[noreturn]] void disagree(const std::string& why) {
  throw Error(ErrorKind::invalid_argument, why);
}

} // namespace

ObjectCondition::ObjectCondition(std::string_view text) {
  const std::size_t at = find_sign(text);
  if (at == std::string_view::npos || at == 0)
    disagree(fmt::format("'{}' is no condition: it takes a field, one of = != < <= > >=, and a value", text));
  path_ = text.substr(0, at);
  while (path_.ends_with(' ')) path_.pop_back();
  first_ = path_.substr(0, path_.find_first_of(".["));
  one_field_ = first_.size() == path_.size();
  if (first_.starts_with('<') && !one_field_) first_.clear(); // its dot may belong to a compiler's name
  std::string_view rest = text.substr(at);
  constexpr std::array<std::pair<std::string_view, Sign>, 7> signs = {{{"==", Sign::equal},
                                                                       {"!=", Sign::unequal},
                                                                       {"<=", Sign::not_greater},
                                                                       {">=", Sign::not_less},
                                                                       {"=", Sign::equal},
                                                                       {"<", Sign::less},
                                                                       {">", Sign::greater}}};
  for (const auto& [spelling, sign] : signs)
    if (rest.starts_with(spelling)) {
      sign_ = sign;
      rest.remove_prefix(spelling.size());
      break;
    }
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  quoted_ = rest.size() >= 2 && (rest.front() == '"' || rest.front() == '\'') && rest.back() == rest.front();
  value_ = quoted_ ? rest.substr(1, rest.size() - 2) : rest;
}

bool ObjectCondition::fits(Order order) const {
  if (!order) return sign_ == Sign::unequal; // not comparable: never equal
  switch (sign_) {
  case Sign::equal:
    return *order == 0;
  case Sign::unequal:
    return *order != 0;
  case Sign::less:
    return *order < 0;
  case Sign::not_greater:
    return *order <= 0;
  case Sign::greater:
    return *order > 0;
  case Sign::not_less:
    return *order >= 0;
  }
  return false;
}

// Why objects of this type have no place for the first step of the path; empty when they may have one. Of a
// union of F#'s each value has its own.
const std::string& ObjectCondition::why_nowhere(ObjectReader& reader, Address object) {
  const auto [known, is_new] = nowhere_.try_emplace(reader.method_table_of(object));
  if (!is_new || first_.empty()) return known->second;
  if (reader.union_of(reader.layouts().of(known->first)) != nullptr) return known->second;
  try {
    follow_path(reader, object, first_);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::invalid_argument) known->second = cut_utf8(error.what(), max_kept_reason);
  }
  return known->second;
}

ValuePlace ObjectCondition::find_place(ObjectReader& reader, Address object) {
  if (!one_field_) return follow_path(reader, object, path_);
  const Address method_table = reader.method_table_of(object);
  if (const auto known = fields_.find(method_table); known != fields_.end())
    return {known->second.type, object + known->second.offset};
  ValuePlace place = follow_path(reader, object, path_);
  // What is elsewhere, as a static field, need not be there for the next object.
  if (place.at - object < reader.layouts().of(method_table).table.base_size)
    fields_.try_emplace(method_table, FieldPlace{place.type, place.at - object});
  return place;
}

std::optional<bool> ObjectCondition::holds(ObjectReader& reader, Address object, std::string& why) {
  try {
    if (const std::string& known = why_nowhere(reader, object); !known.empty()) {
      why = known;
      return std::nullopt;
    }
    const ValuePlace place = find_place(reader, object);
    return fits(compare(reader, *place.type, place.at));
  } catch (const Error& error) {
    why = error.what();
    return std::nullopt;
  }
}

// A value that is no number is an error, not unequal: the user meant something else.
template<typename Number>
ObjectCondition::Order ObjectCondition::compare_number(Number number) const {
  if (quoted_) disagree(fmt::format("{} is a number, and \"{}\" is a text", path_, value_));
  if constexpr (std::is_integral_v<Number>) {
    if (const auto same = number_of<Number>(value_)) return order_of(number, *same);
    // A number of the other sign, or beyond 64 bits, has its place in the order, too.
    if (const auto other = number_of<std::int64_t>(value_)) return *other < 0 ? 1 : -1;
    if (const auto other = number_of<std::uint64_t>(value_)) return -1;
    if (const auto hex = hex_of(value_)) return order_of(static_cast<std::uint64_t>(number), *hex);
  }
  const auto real = number_of<double>(value_);
  if (!real) disagree(fmt::format("{} is a number, and '{}' is none", path_, value_));
  const auto mine = static_cast<double>(number);
  if (mine != mine || *real != *real) return std::nullopt; // not a number
  return order_of(mine, *real);
}

ObjectCondition::Order ObjectCondition::compare_text(std::string_view text) const {
  return text.compare(value_) < 0 ? -1 : text == value_ ? 0 : 1;
}

ObjectCondition::Order ObjectCondition::compare_object(ObjectReader& reader, Address object) const {
  const bool null = !quoted_ && value_ == "null";
  if (object == 0) return null ? Order(0) : std::nullopt;
  if (null) return std::nullopt;
  const Target& target = reader.finder().target();
  const TypeLayout& layout = reader.layouts().of(reader.method_table_of(object));
  if (layout.kind == TypeLayout::Kind::string) {
    const std::uint32_t units = target.read_u32(target.field_address(object, "String", "m_StringLength"));
    // Each unit has a byte at least: with one more than the value has, the order is known.
    const auto needed =
        static_cast<std::uint32_t>(std::min<std::size_t>(value_.size() + 1, max_compared_units));
    return compare_text(target.read_utf16_units(target.field_address(object, "String", "m_FirstChar"),
                                                std::min(units, needed)));
  }
  if (layout.kind == TypeLayout::Kind::number)
    return compare(reader, *number_use(layout.number), object + target.pointer_size());
  const auto address = hex_of(value_);
  if (quoted_ || !address)
    disagree(
        fmt::format("{} holds a {}, which is compared with null or an address only", path_, layout.text));
  return order_of(object, *address);
}

ObjectCondition::Order ObjectCondition::compare(ObjectReader& reader, const TypeUse& type, Address at) const {
  // The commonest ones, without their texts.
  if (type.is_reference()) return compare_object(reader, reader.finder().target().read_pointer(at));
  if (type.kind == TypeUse::Kind::number && is_whole_number(type.number)) {
    const std::uint64_t bits = InstanceReader(reader).number(type.number, at);
    return is_signed_number(type.number) ? compare_number(static_cast<std::int64_t>(bits))
                                         : compare_number(bits);
  }
  const InspectedValue value =
      inspect_value(reader, type, at, {.string_units = 1, .elements = 1, .depth = 1, .text = 256});
  switch (value.kind) {
  case InspectedValue::Kind::unknown:
    disagree(value.fault);
  case InspectedValue::Kind::boolean:
    if (value_ != "true" && value_ != "false") disagree(fmt::format("{} is true or false", path_));
    return order_of(value.bits != 0, value_ == "true");
  case InspectedValue::Kind::integer:
    return compare_number(static_cast<std::int64_t>(value.bits));
  case InspectedValue::Kind::cardinal:
    return compare_number(value.bits);
  case InspectedValue::Kind::real:
    return compare_number(value.real);
  case InspectedValue::Kind::character:
    return compare_text(reader.finder().target().read_utf16_units(at, 1));
  case InspectedValue::Kind::reference:
    return compare_object(reader, value.object);
  case InspectedValue::Kind::text:
    break;
  }
  // An enumeration, or a structure with a text of its own.
  if (type.kind == TypeUse::Kind::value && !quoted_ && number_of<double>(value_)) {
    const TypeLayout& layout = reader.layouts().of(type.method_table);
    if (layout.kind == TypeLayout::Kind::enumeration)
      return compare_number(static_cast<std::int64_t>(InstanceReader(reader).number(layout.number, at)));
    // A decimal, whose text is its number.
    if (const auto number = number_of<double>(value.text)) return compare_number(*number);
  }
  // A day stands for each moment of it, as a minute does.
  if (type.kind == TypeUse::Kind::value && is_within(value.text, value_)) return 0;
  return compare_text(value.text);
}

ObjectConditions::ObjectConditions(std::span<const std::string> texts) {
  for (const std::string& text : texts) conditions_.emplace_back(text);
}

bool ObjectConditions::hold(ObjectReader& reader, Address object) {
  if (!conditions_.empty()) ++asked_;
  for (ObjectCondition& condition : conditions_) {
    const std::optional<bool> holds = condition.holds(reader, object, why_);
    if (!holds) ++untold_;
    if (!holds.value_or(false)) return false;
  }
  return true;
}

std::string ObjectConditions::problem() const {
  if (untold_ == 0) return {};
  return fmt::format("{} of {} objects could not be compared: {}", untold_, asked_, why_);
}

} // namespace clr
