// The commands' names in LLDB.
#pragma once

#include <lldb/API/LLDB.h>

namespace clr::lldb_plugin {

// Adds the tree `clr` and its short names to the interpreter of `debugger`. Names that exist already (SOS may
// be loaded in the same LLDB) are kept, and told on the debugger's error stream.
bool register_commands(lldb::SBDebugger& debugger);

} // namespace clr::lldb_plugin
