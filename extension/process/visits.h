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

// At a stop of `target`: publishes what is new in all targets of `debugger`. True when `target` has no reason
// to stop. By its `hook`, which LLDB runs for each thread with a reason, a stop is visited once.
bool visit_stop(const Turn& turn, lldb::SBDebugger& debugger, lldb::SBTarget target, bool hook);

// The process of `target` has not run since LLDB has it. A runtime that is there then is one that LLDB
// attached to: in a process that it launched there is none yet.
bool attaches(lldb::SBTarget& target);

// While LLDB attaches, for a client of the API: publishes what there is. Pages for breakpoints are made
// writable when LLDB has attached, by a thread of the plugin's own.
void visit_attach(const Turn& turn, lldb::SBDebugger& debugger);

} // namespace clr::lldb_plugin
