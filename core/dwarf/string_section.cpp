#include "core/dwarf/string_section.h"

#include "core/dwarf/bytes.h"
#include "core/memory/utf8.h"

#include <cstring>

namespace clr {

bool is_usable_name(std::string_view name) {
  if (name.empty() || name.size() > max_name_bytes) return false;
  constexpr std::uint64_t ones = 0x0101'0101'0101'0101, highs = 0x8080'8080'8080'8080;
  for (std::size_t at = 0; at < name.size();) {
    // Eight characters of ASCII at once: no byte with its highest bit, none that a subtraction makes have it.
    if (std::uint64_t word = 0; name.size() - at >= sizeof word) {
      std::memcpy(&word, name.data() + at, sizeof word);
      if (((word | (word - ones)) & highs) == 0) {
        at += sizeof word;
        continue;
      }
    }
    const auto byte = static_cast<unsigned char>(name[at]);
    const std::size_t length = byte == 0 ? 0 : byte < 0x80 ? 1 : utf8_length(name.substr(at));
    if (length == 0) return false;
    at += length;
  }
  return true;
}

std::string shown_name(std::string_view name) {
  std::string shown = printable(name);
  shown.resize(cut_utf8(shown, max_name_bytes).size());
  return shown;
}

std::uint32_t StringSection::append(std::string_view text) {
  if (!is_printable(text)) return append_as_is(shown_name(text));
  return append_as_is(text);
}

std::uint32_t StringSection::append_as_is(std::string_view text) {
  if (text_.size() + text.size() >= max_debug_section) return 0;
  const auto at = static_cast<std::uint32_t>(text_.size());
  text_.append(text).push_back('\0');
  return at;
}

std::uint32_t StringSection::append_or_share(std::string_view text) {
  if (text.empty()) return 0;
  if (!is_printable(text)) return append(text); // its bytes are others than those of `text`
  if (!last_.ends_with(text)) {
    last_at_ = append_as_is(text);
    last_ = last_at_ == 0 ? std::string_view() : text;
  }
  if (last_at_ == 0) return 0; // no room
  return last_at_ + static_cast<std::uint32_t>(last_.size() - text.size());
}

std::uint32_t StringSection::add(std::string_view text) {
  if (text.empty()) return 0;
  const auto [it, fresh] = known_.try_emplace(text, 0);
  if (fresh) it->second = append(text);
  return it->second;
}

} // namespace clr
