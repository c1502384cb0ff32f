// Whether a stop is one to the user.
#pragma once

#include "extension/lldb/thread_stop.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace clr::lldb_plugin {

// No thread has anything to tell, and one came to a breakpoint at which it goes on; `is_ours` tells of
// addresses whether the breakpoint there, which is gone since, was the plugin's. LLDB (14 to 19) stops the
// process then when in the same moment a step of another thread came to a breakpoint of its own and removed
// it.
bool nobody_asked(std::span<const ThreadStop> stops, const std::function<bool(std::uint64_t pc)>& is_ours);

// The thread to select: a thread that compiles may be at a breakpoint at which it goes on in the very moment
// when another comes to the user's, and LLDB selects any of them. Of those that tell most the first, but one
// that the debugger has interrupted only when no other tells as much: LLDB (22) interrupts a process to ask
// its server something in the moment when a step ends. 0 when there is no thread.
std::uint64_t thread_to_show(std::span<const ThreadStop> stops);

// The threads that got a signal, when that is all that happened: no other thread has a reason to stop; else
// none. `is_ours`: as above.
std::vector<std::uint64_t> signals_alone(std::span<const ThreadStop> stops,
                                         const std::function<bool(std::uint64_t pc)>& is_ours);

// The debugger has stopped the process for a moment to ask its server something, and in the same moment a
// thread came to a breakpoint at which it goes on: LLDB (22) then takes that for the reason of the stop and
// tells of its own signal as of one that stops the process. Nobody else has a reason.
bool asked_while_running(std::span<const ThreadStop> stops,
                         const std::function<bool(std::uint64_t pc)>& is_ours);

} // namespace clr::lldb_plugin
