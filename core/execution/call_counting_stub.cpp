#include "core/execution/call_counting_stub.h"

#include <array>

namespace clr {
namespace {

constexpr std::size_t stub_size = 24;
constexpr int any = -1; // a byte of an offset to a data cell
// mov rax, [rip + count]; dec word [rax]; je +6; jmp [rip + target]; jmp [rip + threshold reached]
constexpr std::array<int, stub_size> code{0x48, 0x8B, 0x05, any, any, any, any,  0x66, 0xFF, 0x08, 0x74, 0x06,
                                          0xFF, 0x25, any,  any, any, any, 0xFF, 0x25, any,  any,  any,  any};
constexpr std::array<Address, 5> instructions{0, 7, 10, 12, 18};
constexpr std::size_t target_offset =
    14; // place of the offset to the cell with the target; the offset counts from `target_end`
constexpr std::size_t target_end = 18;

bool matches(std::span<const std::byte> bytes) {
  for (std::size_t i = 0; i < stub_size; ++i)
    if (code[i] != any && code[i] != std::to_integer<int>(bytes[i])) return false;
  return true;
}

} // namespace

std::optional<Address> call_counting_target(MemoryReader& memory, Cpu cpu, Address ip) {
  if (cpu != Cpu::x64) return std::nullopt;
  for (const Address instruction : instructions) {
    const Address start = ip - instruction;
    std::array<std::byte, stub_size> bytes{};
    if (memory.read_some(start, bytes) < stub_size || !matches(bytes)) continue;
    const auto distance = static_cast<std::int32_t>(
        load<std::uint32_t>(std::span(bytes).subspan(target_offset), ByteOrder::little));
    std::array<std::byte, 8> cell{};
    if (memory.read_some(start + target_end + static_cast<Address>(static_cast<std::int64_t>(distance)),
                         cell) < cell.size())
      return std::nullopt;
    return load<std::uint64_t>(cell, ByteOrder::little);
  }
  return std::nullopt;
}

} // namespace clr
