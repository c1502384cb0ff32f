#include "core/symbols/map_lines.h"

#include <charconv>

namespace clr {

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

MapLines::MapLines(std::span<const std::byte> text) : rest_(as_text(text)) {
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  if (rest_.starts_with(byte_order_mark)) rest_.remove_prefix(byte_order_mark.size());
}

std::optional<std::string_view> MapLines::next() {
  if (rest_.empty()) return std::nullopt;
  ++number_;
  const std::size_t end = rest_.find('\n');
  unfinished_ = end == std::string_view::npos;
  std::string_view line = rest_.substr(0, end);
  rest_.remove_prefix(unfinished_ ? rest_.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string_view take_field(std::string_view& line) {
  const std::size_t end = line.find(' ');
  const std::string_view field = line.substr(0, end);
  line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
  return field;
}

HexNumber parse_hex(std::string_view text, unsigned bits) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  HexNumber number;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number.value, 16);
  // A number with too many digits still consists of digits up to the end of the field.
  if (text.empty() || stopped != end || error == std::errc::invalid_argument)
    return {0, HexFault::not_hexadecimal};
  if (error != std::errc{} || (bits < 64 && number.value >> bits != 0)) return {0, HexFault::too_large};
  return number;
}

std::optional<std::uint32_t> parse_decimal(std::string_view text) {
  std::uint32_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value, 10);
  if (text.empty() || stopped != end || error != std::errc{}) return std::nullopt;
  return value;
}

} // namespace clr
