// The lines of a text map, and the fields that R2R maps and perf maps share: START SIZE NAME.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace clr {

class MapLines {
public:
  // The bytes outlive the reader. A byte-order mark at the start is skipped.
  explicit MapLines(std::span<const std::byte> text);

  // The next line without its end (LF, CRLF, or the end of the file); nothing at the end.
  std::optional<std::string_view> next();
  // Number of the line that next() returned last, from 1.
  std::size_t number() const { return number_; }
  // That line had no LF, so it may be cut.
  bool unfinished() const { return unfinished_; }

private:
  std::string_view rest_;
  std::size_t number_ = 0;
  bool unfinished_ = false;
};

// Removes the text before the next space and the space from `line`, and returns the text. Without a space,
// the whole line.
std::string_view take_field(std::string_view& line);

enum class HexFault : std::uint8_t { none, not_hexadecimal, too_large };
struct HexNumber {
  std::uint64_t value = 0;
  HexFault fault = HexFault::none;
};
// Reads digits of either case, with or without 0x; the fault is too_large for more than `bits` bits.
HexNumber parse_hex(std::string_view text, unsigned bits);
// Decimal digits only.
std::optional<std::uint32_t> parse_decimal(std::string_view text);

std::string_view as_text(std::span<const std::byte> bytes);

} // namespace clr
