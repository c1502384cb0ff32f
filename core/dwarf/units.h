// Compilation units for managed code, and the functions in them with their lines and variables.
#pragma once

#include "core/dwarf/entries.h"
#include "core/dwarf/lines.h"
#include "core/dwarf/placed_code.h"

namespace clr {

// The bytes of every DWARF section but .debug_frame.
struct DwarfUnits {
  explicit DwarfUnits(const DebugModule& module)
      : entries(module.platform), lines(module), ranges(module.platform), locations(module.platform) {}

  // The ranges of code for DW_AT_ranges: where they are in the section.
  std::size_t add_ranges(std::span<const PlacedCode* const> functions);

  DwarfEntries entries;
  DwarfLines lines;
  DwarfBytes ranges, locations;
};

// A unit for each DebugCode::unit, in it a function for each code that has lines or variables; the bare units
// of the others. No unit names its language: LLDB has none for C#, and without one treats names as they are
// written.
DwarfUnits write_units(const DebugModule& module, const PlacedModule& placed);

} // namespace clr
