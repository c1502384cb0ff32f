// DWARF expressions that leave one value or another, by a condition that the debugger evaluates.
// Source: DWARF 4 section 2.5.1.
#pragma once

#include "core/dwarf/bytes.h"
#include "core/dwarf/debug_module.h"

namespace clr {

constexpr unsigned short_registers = 32; // that have an operation each

// The value of register `reg` + `offset`. Debuggers take it for an address in memory where they want a place.
void write_register_value(DwarfBytes& to, unsigned reg, std::int64_t offset);

// `value`, counted from a register, which makes it an address: debuggers take a constant for none.
void write_register_constant(DwarfBytes& to, const Platform& platform, std::uint64_t value);

// `yes` when `condition` leaves a value that is not 0, else `no`.
DwarfBytes choice(const Platform& platform, const DwarfBytes& condition, const DwarfBytes& yes,
                  const DwarfBytes& no);

// The value of `reg` + `offset` in the frame of `interruption`, and in any other frame. `reg` must be known
// there.
DwarfBytes interrupted_value(const Platform& platform, const DebugInterruption& interruption, unsigned reg,
                             std::int64_t offset);
// Registers that the made-up frame restores need no such expression.
bool is_restored(const DebugInterruption& interruption, unsigned reg);

} // namespace clr
