// Units of functions of which only names are known: the code of a framework, by the ten thousand.
#pragma once

#include "core/dwarf/units.h"

namespace clr {

// Without lines and variables.
bool is_bare(const DebugCode& code);

// Adds units for the bare functions of `placed`. LLDB reads entries when it first comes upon one of their
// addresses, or first looks for a name; symbols it would read and sort as it loads the module, which takes
// longer than all else that publishing does.
// An address leads to units of entries that are called as frames show the function, full_name. What else
// breakpoints may call it is said by entries of the same range, in units that have no part of the code.
void write_bare_units(const DebugModule& module, const PlacedModule& placed, DwarfUnits& out);

} // namespace clr
