#include "core/isa/system_call.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace clr {

std::optional<bool> stands_behind_system_call(MemoryReader& memory, Cpu cpu, Address pc) {
  switch (cpu) {
  case Cpu::x64: {
    std::array<std::byte, 2> bytes{};
    if (memory.read_some(pc - bytes.size(), bytes) != bytes.size()) return std::nullopt;
    return bytes == std::array{std::byte{0x0f}, std::byte{0x05}}; // syscall
  }
  case Cpu::arm64: {
    std::array<std::byte, 4> bytes{};
    if (memory.read_some(pc - bytes.size(), bytes) != bytes.size()) return std::nullopt;
    return load<std::uint32_t>(bytes, ByteOrder::little) == 0xd400'0001; // svc #0
  }
  default:
    return std::nullopt;
  }
}

// The C libraries load the number of the call right before it. Source: Linux' tables of system calls.
bool stands_behind_yield(MemoryReader& memory, Cpu cpu, Address pc) {
  switch (cpu) {
  case Cpu::x64: {
    constexpr std::array<std::uint8_t, 7> code = {0xb8, 24, 0, 0, 0, 0x0f, 0x05}; // mov eax, 24; syscall
    std::array<std::byte, code.size()> bytes{};
    if (memory.read_some(pc - bytes.size(), bytes) != bytes.size()) return false;
    return std::ranges::equal(bytes, code, {}, [](std::byte b) { return std::to_integer<std::uint8_t>(b); });
  }
  case Cpu::arm64: {
    std::array<std::byte, 8> bytes{};
    if (memory.read_some(pc - bytes.size(), bytes) != bytes.size()) return false;
    return load<std::uint64_t>(bytes, ByteOrder::little) == 0xd400'0001'd280'0f88; // mov x8, #124; svc #0
  }
  default:
    return false;
  }
}

} // namespace clr
