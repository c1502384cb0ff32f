// Frames of a thread that LLDB kept from before it ran on, and those that it looks at while the process runs.
#pragma once

#include <lldb/API/LLDB.h>

namespace clr::lldb_plugin {

// In a callback of a breakpoint at `place`, to which `thread` came: lets LLDB find its frames anew if those
// that it hands out are not of there. LLDB 22 keeps them at times when a callback that let the process run on
// has looked at some; registers are always right. Cost: frame 0, and a register when it is another.
void refresh_frames(lldb::SBThread& thread, lldb::addr_t place);
// At a stop: all threads at a breakpoint. Cost: a register of each.
void refresh_frames(lldb::SBProcess& process);

// Whether the thread of LLDB that handles events looks at frame 0 of the selected thread when a callback of a
// breakpoint has let the process run on: LLDB 21 and 22 do. When they have to read memory for that they stop
// the process, and afterwards all threads run where one alone was to leave its breakpoint; what others come
// to meanwhile is lost.
bool looks_while_running();
// The last that a callback does when it lets the process run on: what such an LLDB would read is read here,
// and it has that until the next stop. Cost: frame 0.
void read_ahead(lldb::SBProcess& process);

} // namespace clr::lldb_plugin
