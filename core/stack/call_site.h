// What stands in front of a return address.
// Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, CALL; Arm Architecture
// Reference Manual for A-profile, BL, BLR.
#pragma once

#include "core/memory/memory_reader.h"

#include <array>
#include <cstdint>

namespace clr {

// A form of x64's call in the 8 bytes that end with it, as a little-endian integer: its opcode stands at bit
// `shift`.
struct CallForm {
  unsigned shift = 0;
  std::uint16_t mask = 0xFFFF, opcode = 0;
};
constexpr std::array<CallForm, 7> x64_call_forms{{
    {24, 0x00FF, 0x00E8}, // call rel32
    {16, 0xFFFF, 0x15FF}, // call [rip + disp32]
    {48, 0xF8FF, 0xD0FF}, // call reg
    {48, 0xF8FF, 0x10FF}, // call [reg]
    {40, 0xF8FF, 0x50FF}, // call [reg + disp8]
    {16, 0xF8FF, 0x90FF}, // call [reg + disp32]
    {32, 0xFFFF, 0x54FF}, // call [r12 or rsp + disp8]
}};
constexpr unsigned x64_call_bytes = 8; // that are looked at

// True when the bytes before `address` may be a call instruction; false for CPUs other than x64 and arm64,
// and where they are missing. Never throws. Cost: 1 read.
bool is_behind_call(MemoryReader& memory, Cpu cpu, Address address);

} // namespace clr
