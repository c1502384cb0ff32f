// The summaries that LLDB prints beside managed variables: the text of a string, the elements of an array,
// what a reference refers to. The types are those of the modules that the publisher adds.
#pragma once

#include <lldb/API/LLDB.h>

namespace clr::lldb_plugin {

// Registers the summaries in the category "clr", which LLDB keeps for all its debuggers; values of a debugger
// are read through its own workspace, as long as it has one. False when LLDB has no such category. A value
// that is no managed object (a type of native code that is called alike) gets no summary.
bool register_summaries(lldb::SBDebugger& debugger);

} // namespace clr::lldb_plugin
