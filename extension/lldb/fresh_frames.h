// Frames of a thread that LLDB kept from before it ran on.
#pragma once

#include <lldb/API/LLDB.h>

namespace clr::lldb_plugin {

// At a stop, or in a callback of a breakpoint: lets LLDB find the frames of `thread` anew if those that it
// hands out are not of where the thread stands. LLDB 22 keeps them at times when a callback that let the
// process run on has looked at some; registers are always right. Cost: a register of frame 0.
void refresh_frames(lldb::SBThread& thread);
// All threads at a breakpoint.
void refresh_frames(lldb::SBProcess& process);

} // namespace clr::lldb_plugin
