#include "core/isa/x64/frame_pointer.h"

#include <algorithm>
#include <array>

namespace clr {
namespace {
// Bytes of the caller's rbp and the return address.
constexpr std::int64_t frame_record = 16;
} // namespace

std::optional<std::int64_t> x64_frame_pointer_set(std::span<const std::byte> code) {
  const auto begins = [&](auto... bytes) {
    const std::array<unsigned, sizeof...(bytes)> wanted{static_cast<unsigned>(bytes)...};
    return code.size() >= wanted.size() &&
           std::ranges::equal(code.first(wanted.size()), wanted, {},
                              [](std::byte b) { return std::to_integer<unsigned>(b); });
  };
  if (begins(0x48, 0x8B, 0xEC) || begins(0x48, 0x89, 0xE5)) return 0;
  if (begins(0x48, 0x8D, 0x6C, 0x24) && code.size() >= 5)
    return static_cast<std::int8_t>(std::to_integer<std::uint8_t>(code[4]));
  if (begins(0x48, 0x8D, 0xAC, 0x24) && code.size() >= 8) {
    std::uint32_t displacement = 0;
    for (std::size_t i = 0; i < 4; ++i)
      displacement |= std::to_integer<std::uint32_t>(code[4 + i]) << (8 * i);
    return static_cast<std::int32_t>(displacement);
  }
  return std::nullopt;
}

std::optional<FrameLayout> x64_layout_by_frame_pointer(const FrameLayout& layout, std::int64_t distance) {
  if (layout.stack_pointer_at) return std::nullopt;
  FrameLayout result = layout;
  const auto rebase = [&](RegisterOffset& at) {
    if (at.reg != x64_register::rsp) return false;
    at = {.reg = x64_register::rbp, .offset = at.offset - distance};
    return true;
  };
  bool all = rebase(result.cfa);
  for (SavedRegister& saved : result.saved) all = rebase(saved.at) && all;
  const SavedRegister* const callers = result.find(x64_register::rbp);
  const bool chained = callers != nullptr && callers->at.offset == 0 && result.cfa.offset == frame_record;
  if (!all || !chained) return std::nullopt;
  return result;
}

} // namespace clr
