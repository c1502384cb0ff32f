// The place of a variable's value: registers, stack slots, or what they point to. The runtime's debug
// information tells it, and DWARF is written of it; both rooms stand on this one, so the values are kept
// here. Source: dotnet/runtime src/coreclr/inc/cordebuginfo.h (VarLocType).
#pragma once

#include <cstdint>

namespace clr {

// The runtime's VarLocType.
enum class VariableHome : std::uint8_t {
  reg,         // `reg`
  reg_byref,   // at the address that `reg` holds
  reg_fp,      // floating point register `reg`
  stack,       // at base + offset
  stack_byref, // at the address that base + offset holds
  reg_reg,     // low half in `reg`, high half in `reg2`
  reg_stack,   // low half in `reg`, high half at base + offset
  stack_reg,   // low half at base + offset, high half in `reg`
  stack2,      // two slots from base + offset on
  fp_stack,    // x87 stack slot `index`
  fixed_va,    // offset `index` from the fixed arguments of a varargs call
};

struct VariableLocation {
  VariableHome home = VariableHome::reg;
  // Registers by CoreCLR's numbers: see debug_register_name in core/debuginfo. 0 where the home has none.
  std::uint32_t reg = 0, reg2 = 0, base = 0;
  std::int32_t offset = 0; // bytes from the base register
  std::uint32_t index = 0;

  friend bool operator==(const VariableLocation&, const VariableLocation&) = default;
};

} // namespace clr
