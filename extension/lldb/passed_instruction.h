// A breakpoint that the plugin lets a thread go on from.
#pragma once

#include <lldb/API/LLDB.h>

namespace clr::lldb_plugin {

// In a callback of a breakpoint at `place`, to which `thread` came and from which it goes on: does what the
// instruction there does, when that is simple, and lets the thread go on behind it. LLDB takes the trap away
// else, steps the thread over it alone and puts it back. That is half of what such a stop costs; and when
// LLDB 21 or 22 interrupts the thread in the middle of it, all threads run on without the trap. Nothing
// happens when other breakpoints are there, too. Cost: 4 bytes of the process, a register or two that are
// read, and as many that are written.
void pass_instruction(lldb::SBThread& thread, lldb::addr_t place);

} // namespace clr::lldb_plugin
