#include "core/memory/utf8.h"

#include <fmt/format.h>

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

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const unsigned first = static_cast<unsigned char>(text.front());
    const std::size_t length = utf8_length(text);
    const bool c1_control = length == 2 && first == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0;
    if (length == 0 || first < 0x20 || first == 0x7f) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", first);
      text.remove_prefix(1);
      continue;
    }
    if (c1_control)
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned char>(text[1]));
    else
      out += text.substr(0, length);
    text.remove_prefix(length);
  }
  return out;
}

} // namespace clr
