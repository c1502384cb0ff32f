// Units for functions of which only the names are known. A framework has tens of thousands of them.
#pragma once

#include "core/dwarf/units.h"

namespace clr {

// Without lines and variables.
bool is_bare(const DebugCode& code);

// Adds units for the bare functions of `placed`. LLDB reads entries when it first comes upon one of their
// addresses, or first looks for a name. Symbols would cost more, because LLDB reads and sorts them as it
// loads the module, which takes longer than all else that publishing does. An address leads to units whose
// entries have the name that frames show, full_name. The other names, which breakpoints may use, are entries
// of the same range in units that have no part of the code.
void write_bare_units(const DebugModule& module, const PlacedModule& placed, DwarfUnits& out);

} // namespace clr
