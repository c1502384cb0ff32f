// What the threads of a stopped process tell the user: of the breakpoints that they came to some are the
// plugin's own.
#pragma once

#include <lldb/API/LLDB.h>

#include <functional>

namespace clr::lldb_plugin {

// LLDB shows any thread that came to a breakpoint, also one at which it goes on: a thread that compiles may
// be at such a one in the very moment when another comes to the user's. Selects one that has something to
// tell.
void select_asked_stop(lldb::SBTarget& target);

// No thread has anything to tell, and one came to a breakpoint at which it goes on; `is_ours` tells of
// addresses whether that breakpoint, if it is gone since, was the plugin's. LLDB stops the process then
// when in the same moment another thread came to a breakpoint of LLDB's own: of a step, which it removes (14
// to 19), or in the dynamic loader (22 and 23).
bool nobody_asked_to_stop(lldb::SBTarget& target, const std::function<bool(lldb::addr_t)>& is_ours);

// The thread that got a signal, when that is all that happened: no other thread has a reason to stop.
lldb::SBThread thread_at_lone_signal(lldb::SBTarget& target);

} // namespace clr::lldb_plugin
