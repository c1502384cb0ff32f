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

// The register that the stack places of a function's variables count from, in the code where they hold. A
// debugger evaluates it once for each frame, where a list of places is searched, and the register read, for
// each variable again.
struct FrameBase {
  std::uint32_t begin = 0, end = 0; // bytes from the start of the code
  std::uint32_t base = 0;           // the JIT's number of the register
  bool operator==(const FrameBase&) const = default;
};
// The one that most variables share, two at least: nothing when no two do. Each of these variables has one
// place on the stack in one range. Nothing, too, for code with interruptions, whose places differ by the
// frame.
std::optional<FrameBase> frame_base_of(const PlacedCode& placed, const Platform& platform);
// A static field's place.
DwarfBytes static_location(const DebugField& field, const Platform& platform);

struct VariablePlaces {
  std::optional<DwarfBytes> everywhere; // one place in all of the code
  std::optional<std::size_t> list;      // offset in .debug_loc
  // Neither: it is nowhere.
};
// All places of a variable of `placed`, without those that overlap one before or reach beyond the code. The
// place at an interrupted instruction is that at the byte before it too. One that counts from `frame_base` is
// said to be everywhere: where the base is nowhere, the variable is.
VariablePlaces write_places(const DebugVariable& variable, const PlacedCode& placed, const Platform& platform,
                            DwarfBytes& debug_loc, const std::optional<FrameBase>& frame_base = {});
// Where the frame base itself is.
VariablePlaces write_places(const FrameBase& frame_base, const PlacedCode& placed, const Platform& platform,
                            DwarfBytes& debug_loc);

} // namespace clr
