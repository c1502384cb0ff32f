// LLDB's calls beside commands and values: before its own commands, at stops, at the
// plugin's breakpoints. Each finds the process that it is about, or does nothing and says so.
#pragma once

#include "extension/breakpoints/managed_breakpoints.h"
#include "extension/door/door.h"

#include <lldb/API/LLDB.h>

namespace clr::lldb_plugin {

// The functions that hits of the plugin's own breakpoints call.
OwnEntries own_entries();

// From now on what LLDB knows of managed code is brought up to date before each of its commands that show
// code or frames, and breakpoints and steps are prepared. Such a target runs `clr publish update` at each
// stop once something of it is published.
void follow_commands(lldb::SBDebugger& debugger);

// At a stop, which the hook tells: publishes what is new in all targets of `debugger`. True when the selected
// one has no reason to stop.
bool visit_stop(const Turn& turn, lldb::SBDebugger& debugger);

} // namespace clr::lldb_plugin
