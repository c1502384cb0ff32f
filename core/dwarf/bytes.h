// Bytes of a DWARF section while it is written: integers of all sizes, LEB128, strings, lengths.
// Source: DWARF 4 section 7.6 (LEB128) and 7.4 (32-bit format).
#pragma once

#include "core/memory/target_bytes.h"

namespace clr {

class DwarfBytes : public TargetBytes {
public:
  explicit DwarfBytes(const Platform& platform) : TargetBytes(platform) {}

  void uleb(std::uint64_t value) {
    for (; value > 0x7f; value >>= 7) u8((value & 0x7f) | 0x80);
    u8(value);
  }
  void sleb(std::int64_t value) {
    // The rest is only the sign, and the last group shows it.
    while (value < -0x40 || value > 0x3f) {
      u8((static_cast<std::uint64_t>(value) & 0x7f) | 0x80);
      value >>= 7;
    }
    u8(static_cast<std::uint64_t>(value) & 0x7f);
  }
  // With a NUL behind.
  void string(std::string_view value) { text(value, value.size() + 1); }
  // A block behind its length.
  void block(std::span<const std::byte> bytes) {
    uleb(bytes.size());
    append(bytes);
  }

  // The length of a unit, which counts what follows it: begin_unit() leaves room, end_unit() fills it.
  std::size_t begin_unit() {
    u32(0);
    return size();
  }
  void end_unit(std::size_t begin) { patch_u32(begin - 4, size() - begin); }
};

// No section of a module grows beyond this, whatever the values are: offsets between sections have 32 bits.
constexpr std::size_t max_debug_section = std::size_t{1} << 30;

} // namespace clr
