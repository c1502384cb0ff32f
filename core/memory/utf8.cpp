#include "core/memory/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>

namespace clr {
namespace {

bool continues(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

// The length of a character by its first byte; 0 for a byte that begins no character.
std::size_t length_by_lead(unsigned lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return 2;
  if (lead >= 0xe0 && lead <= 0xef) return 3;
  return lead >= 0xf0 && lead <= 0xf4 ? 4 : 0;
}

// The number of the one character that `character` is.
std::uint32_t code_point(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character.front());
  if (character.size() == 1) return lead;
  std::uint32_t code = lead & (0x7fU >> character.size());
  for (const char c : character.substr(1)) code = code << 6 | (static_cast<unsigned char>(c) & 0x3f);
  return code;
}

// Source of the marks: Unicode Standard Annex 9, section 2.
bool is_obeyed(std::uint32_t code) {
  const bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
  const bool mark = code == 0x061c || code == 0x200e || code == 0x200f ||
                    (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  const bool separator = code == 0x2028 || code == 0x2029;
  return control || mark || separator;
}

// Whether the eight bytes at `bytes` are all from ' ' to '~'. A byte below ' ' borrows, DEL and greater ones
// have their highest bit set after the addition; a borrow or a carry can only come of a byte that is none of
// these.
bool are_printable_ascii(const char* bytes) {
  constexpr std::uint64_t ones = 0x0101'0101'0101'0101, highs = 0x8080'8080'8080'8080;
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return ((word | (word - ones * ' ') | (word + ones)) & highs) == 0;
}

} // namespace

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  const std::size_t length = length_by_lead(lead);
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if (!continues(text[i])) return 0;
  if (lead == 0xe0 && byte(1) < 0xa0) return 0; // overlong
  if (lead == 0xed && byte(1) > 0x9f) return 0; // a surrogate
  if (lead == 0xf0 && byte(1) < 0x90) return 0; // overlong
  if (lead == 0xf4 && byte(1) > 0x8f) return 0; // beyond U+10FFFF
  return length;
}

std::string whole_utf8(std::string_view text) {
  constexpr std::string_view replacement = "\xef\xbf\xbd";
  std::string whole;
  whole.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    whole += length == 0 ? replacement : text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return whole;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string_view cut_utf8(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return text;
  std::size_t end = limit;
  // A character has at most three bytes behind its first one. If there are more, it is no text, and it is cut
  // anywhere.
  for (unsigned i = 0; i < 3 && end > 0 && continues(text[end]); ++i) --end;
  return text.substr(0, continues(text[end]) ? limit : end);
}

std::string_view without_cut_end(std::string_view text) {
  std::size_t last = text.size();
  while (last > 0 && text.size() - last < 3 && continues(text[last - 1])) --last;
  if (last == 0) return text;
  const std::size_t length = length_by_lead(static_cast<unsigned char>(text[last - 1]));
  return length > text.size() - (last - 1) ? text.substr(0, last - 1) : text;
}

std::string_view printable_part(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    if (text.size() - at >= sizeof(std::uint64_t) && are_printable_ascii(text.data() + at)) {
      at += sizeof(std::uint64_t);
      continue;
    }
    const std::size_t length = utf8_length(text.substr(at));
    if (length == 0 || is_obeyed(code_point(text.substr(at, length)))) break;
    at += length;
  }
  return text.substr(0, at);
}

bool is_printable(std::string_view text) {
  return printable_part(text).size() == text.size();
}

std::string printable(std::string_view text, Escape escape) {
  std::string out;
  out.reserve(text.size());
  while (true) {
    const std::string_view part = printable_part(text);
    out += part;
    text.remove_prefix(part.size());
    if (text.empty()) return out;
    const std::size_t length = utf8_length(text);
    if (length > 1 || (length == 1 && escape == Escape::json))
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", code_point(text.substr(0, length)));
    else
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(text.front()));
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
}

bool is_shown_as(std::string_view text, std::string_view shown) {
  return text == shown || (!is_printable(text) && printable(text) == shown);
}

} // namespace clr
