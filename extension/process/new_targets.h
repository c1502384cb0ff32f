// Processes of clients that run no command of LLDB's: editors and scripts launch and attach by its API.
#pragma once

#include <lldb/API/LLDB.h>

namespace clr::lldb_plugin {

// Each target that `debugger` makes from now on brings itself up to date at its stops, and looks for its
// breakpoints on managed code when the runtime gets ready to run some. When `debugger` attaches, LLDB is told
// of the code that there is before the client goes on, where this LLDB lets the plugin look by then.
void follow_new_targets(lldb::SBDebugger& debugger);

} // namespace clr::lldb_plugin
