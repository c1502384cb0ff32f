#include "core/isa/system_call.h"

#include <array>

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

} // namespace clr
