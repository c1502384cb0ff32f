// Frames of a thread that LLDB kept from before it ran on.
#pragma once

#include <lldb/API/LLDB.h>

namespace clr::lldb_plugin {

// In a callback of a breakpoint at `place`, to which `thread` came: lets LLDB find its frames anew if those
// that it hands out are not of there. LLDB 22 keeps them at times when a callback that let the process run on
// has looked at some; registers are always right. Cost: frame 0, and a register when it is another.
void refresh_frames(lldb::SBThread& thread, lldb::addr_t place);
// At a stop: all threads at a breakpoint. Cost: a register of each.
void refresh_frames(lldb::SBProcess& process);

} // namespace clr::lldb_plugin
