// LLDB's `help` without a name, in the one version whose own ends LLDB.
#pragma once

#include <lldb/API/LLDB.h>

namespace clr::lldb_plugin {

// To be called when a tree of commands was added. LLDB 14 looks for the names of trees in its table of other
// commands, up to the end of the table of trees: it reads memory that is neither's, and crashes
// (https://github.com/llvm/llvm-project/issues/54754, mended in LLDB 15). There `help` lists LLDB's own
// commands and those of the plugin from now on. Does nothing in other versions.
void guard_plain_help(lldb::SBDebugger& debugger);

} // namespace clr::lldb_plugin
