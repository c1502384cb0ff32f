// The places of variables, as DWARF expressions and as lists of them by code range.
// Source: DWARF 4 sections 2.5 and 2.6; dotnet/runtime src/coreclr/inc/cordebuginfo.h.
#pragma once

#include "core/dwarf/bytes.h"
#include "core/dwarf/debug_module.h"
#include "core/dwarf/placed_code.h"

#include <optional>

namespace clr {

// Where a variable is, in the frame of `interruption` (null: any frame) too; nothing for a home that has no
// DWARF: the ambient stack pointer, x87 slots, arguments of varargs calls, registers that the CPU lacks.
std::optional<DwarfBytes> location_expression(const DebugVariableRange& range, const Platform& platform,
                                              const DebugInterruption* interruption = nullptr);
// A static field's place.
DwarfBytes static_location(const DebugField& field, const Platform& platform);

// All places of a variable of code of `code_size` bytes, without those that overlap one before or reach
// beyond the code. The place at an interrupted instruction is that at the byte before it too.
struct VariablePlaces {
  std::optional<DwarfBytes> everywhere; // one place in all of the code
  std::optional<std::size_t> list;      // offset in .debug_loc
  // Neither: it is nowhere.
};
VariablePlaces write_places(const DebugVariable& variable, const PlacedCode& placed, const Platform& platform,
                            DwarfBytes& debug_loc);

} // namespace clr
