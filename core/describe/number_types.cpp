#include "core/describe/number_types.h"

#include <algorithm>
#include <bit>
#include <string>

namespace clr {

DebugType::Kind kind_of(ElementType number) {
  switch (number) {
  case ElementType::boolean:
    return DebugType::Kind::boolean;
  case ElementType::char_:
    return DebugType::Kind::character;
  case ElementType::r4:
  case ElementType::r8:
    return DebugType::Kind::floating;
  default:
    return is_signed_number(number) ? DebugType::Kind::signed_integer : DebugType::Kind::unsigned_integer;
  }
}

std::optional<DebugEnumerator> plain_number(const TypeLayout& layout) {
  constexpr std::int64_t most = 127; // fits in every integer
  for (std::int64_t value = 3; value <= most; ++value) {
    if (std::popcount(static_cast<std::uint64_t>(value)) < 2) continue;
    const bool named = std::any_of(
        layout.enumerators.begin(), layout.enumerators.end(),
        [&](const objects::Enumerator& known) { return known.value == static_cast<std::uint64_t>(value); });
    if (!named) return DebugEnumerator{.name = std::to_string(value), .value = value};
  }
  return std::nullopt;
}

std::optional<DebugType> as_whole_byte(const DebugType& type) {
  const bool has_sign = type.kind == DebugType::Kind::signed_integer;
  if (type.size != 1 || (!has_sign && type.kind != DebugType::Kind::unsigned_integer)) return std::nullopt;
  DebugType whole = type;
  whole.name = has_sign ? "System.SByte" : "System.Byte";
  return whole;
}

} // namespace clr
