#include "core/stack/call_site.h"

#include <algorithm>

namespace clr {

bool is_behind_call(MemoryReader& memory, Cpu cpu, Address address) {
  std::array<std::byte, x64_call_bytes> bytes{};
  if (cpu == Cpu::x64) {
    if (address < bytes.size() || memory.read_some(address - bytes.size(), bytes) < bytes.size())
      return false;
    const auto before = load<std::uint64_t>(bytes, ByteOrder::little);
    return std::ranges::any_of(x64_call_forms, [&](const CallForm& form) {
      return (before >> form.shift & form.mask) == form.opcode;
    });
  }
  if (cpu != Cpu::arm64) return false;
  const auto word = std::span(bytes).first(4);
  if (address < word.size() || memory.read_some(address - word.size(), word) < word.size()) return false;
  const auto instruction = load<std::uint32_t>(word, ByteOrder::little);
  constexpr std::uint32_t bl_mask = 0xFC00'0000, bl = 0x9400'0000, blr_mask = 0xFFFF'FC1F, blr = 0xD63F'0000;
  return (instruction & bl_mask) == bl || (instruction & blr_mask) == blr;
}

} // namespace clr
