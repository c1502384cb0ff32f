// The kind of machine of the target. It is a value that travels with the target: nothing in core depends on
// the word size or byte order of the host.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

namespace clr {

// An address in the target. Targets of 32 bits use the low half.
using Address = std::uint64_t;

enum class ByteOrder : std::uint8_t { little, big };
enum class Cpu : std::uint8_t { unknown, x64, x86, arm64, arm, loongarch64, riscv64, wasm };
// Named `unix_like` because gcc defines `unix` as a macro, a trap that the runtime's own descriptor fell
// into.
enum class Os : std::uint8_t { unknown, unix_like, windows, apple };

struct Platform {
  unsigned pointer_size = 8; // bytes: 4 or 8
  ByteOrder byte_order = ByteOrder::little;
  Cpu cpu = Cpu::unknown;
  Os os = Os::unknown;

  // All address arithmetic of the target wraps at its pointer size.
  constexpr Address wrap(Address a) const { return pointer_size == 4 ? a & 0xffff'ffffu : a; }
  friend bool operator==(const Platform&, const Platform&) = default;
};

// The runtime's own architecture names: "x64", "arm64", ...; "unknown" for Cpu::unknown. Both read the table
// of CPUs (core/memory/cpu_table.h).
std::string_view to_string(Cpu cpu);
// Inverse of to_string; Cpu::unknown for anything else.
Cpu cpu_from_name(std::string_view name);

} // namespace clr
