#include "extension/lldb/compared_text.h"

#include "core/memory/utf8.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <span>
#include <vector>

namespace clr::lldb_plugin {

namespace {
void append_units(std::vector<std::uint16_t>& units, std::uint32_t character) {
  constexpr std::uint32_t first_of_two = 0x10000;
  if (character < first_of_two) return units.push_back(static_cast<std::uint16_t>(character));
  character -= first_of_two;
  units.push_back(static_cast<std::uint16_t>(0xd800 + (character >> 10)));
  units.push_back(static_cast<std::uint16_t>(0xdc00 + (character & 0x3ff)));
}

// The character at `at`, which is moved behind it; nothing: it is none.
std::optional<std::uint32_t> character_at(std::string_view text, std::size_t& at) {
  const std::size_t length = utf8_length(text.substr(at));
  if (length == 0) return std::nullopt;
  const auto first = static_cast<unsigned char>(text[at]);
  std::uint32_t character = length == 1 ? first : first & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i)
    character = character << 6 | (static_cast<unsigned char>(text[at + i]) & 0x3fU);
  at += length;
  return character;
}

// The same of an escape, behind its backslash.
std::optional<std::uint32_t> escaped_at(std::string_view text, std::size_t& at) {
  constexpr std::string_view letters = "0abefnrtv\\\"'";
  constexpr std::array<std::uint32_t, letters.size()> meant{0, 7, 8, 27, 12, 10, 13, 9, 11, '\\', '"', '\''};
  constexpr std::size_t digits = 4;
  const char c = text[at++];
  if (const std::size_t found = letters.find(c); found != std::string_view::npos) return meant[found];
  if (c != 'u' || at + digits > text.size()) return std::nullopt;
  std::uint32_t unit = 0;
  const char* const begin = text.data() + at;
  at += digits;
  const auto [end, error] = std::from_chars(begin, begin + digits, unit, 16);
  return error == std::errc() && end == begin + digits ? std::optional(unit) : std::nullopt;
}

// The code units of a text in quotes.
std::optional<std::vector<std::uint16_t>> units_of(std::string_view quoted) {
  const std::string_view text = quoted.substr(1, quoted.size() - 2);
  std::vector<std::uint16_t> units;
  for (std::size_t at = 0; at < text.size();) {
    const bool escape = text[at] == '\\';
    if (escape) ++at;
    const std::optional<std::uint32_t> character = escape ? escaped_at(text, at) : character_at(text, at);
    if (!character || units.size() >= max_compared_literal) return std::nullopt;
    append_units(units, *character);
  }
  return units;
}

std::string compared_units(std::string_view object, std::span<const std::uint16_t> units) {
  std::string text =
      fmt::format("(unsigned long)&({0}) != 0 && ({0})._stringLength == {1}", object, units.size());
  for (std::size_t at = 0; at < units.size();) {
    const std::size_t left = units.size() - at, count = left >= 4 ? 4 : left >= 2 ? 2 : 1;
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < count; ++i) number |= std::uint64_t{units[at + i]} << (16 * i);
    const char* const type = count == 4   ? "unsigned long long"
                             : count == 2 ? "unsigned int"
                                          : "unsigned short";
    text +=
        fmt::format(" && *({} *)((char *)&({})._firstChar + {}) == {:#x}ull", type, object, 2 * at, number);
    at += count;
  }
  return text;
}
} // namespace

std::optional<std::string> compared_with_text(std::string_view object, std::string_view quoted) {
  const auto units = units_of(quoted);
  return units ? std::optional(compared_units(object, *units)) : std::nullopt;
}

} // namespace clr::lldb_plugin
