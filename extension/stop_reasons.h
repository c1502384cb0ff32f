// What the threads of a stopped process tell the user: of the breakpoints that they came to some are the
// plugin's own.
#pragma once

#include <lldb/API/LLDB.h>

namespace clr::lldb_plugin {

// LLDB shows any thread that came to a breakpoint, also one at which it goes on: a thread that compiles may
// be at such a one in the very moment when another comes to the user's. Selects one that has something to
// tell.
void select_asked_stop(lldb::SBTarget& target);

// The thread that got a signal, when that is all that happened: no other thread has a reason to stop.
lldb::SBThread thread_at_lone_signal(lldb::SBTarget& target);

} // namespace clr::lldb_plugin
