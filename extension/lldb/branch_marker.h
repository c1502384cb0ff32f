// The instruction by which a function tells that it may be called through a pointer.
#pragma once

#include <lldb/API/LLDB.h>

namespace clr::lldb_plugin {

// In a callback of a breakpoint at `place`, to which `thread` came and from which it goes on: lets it go on
// behind the instruction there when that does nothing. LLDB takes the trap away else, steps the thread over
// it and puts it back, which is half of what such a stop costs. Nothing happens when other breakpoints are
// there, too. Cost: 4 bytes of the process, and a register that is written.
void pass_branch_marker(lldb::SBThread& thread, lldb::addr_t place);

} // namespace clr::lldb_plugin
