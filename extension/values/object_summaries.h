// What LLDB prints beside managed variables: the text of a string, the elements of an array, what a reference
// refers to. The types are those of the modules that the publisher adds.
#pragma once

#include "extension/session/session_store.h"

#include <lldb/API/LLDB.h>

#include <memory>

namespace clr::lldb_plugin {

// Registers the summaries in the category "clr", which LLDB keeps for all its debuggers; values of a debugger
// are read through the sessions that were registered for it. False when LLDB has no such category. A value
// that is no managed object (a type of native code that is called alike) gets no summary.
bool register_summaries(lldb::SBDebugger& debugger, const std::shared_ptr<SessionStore>& sessions);

} // namespace clr::lldb_plugin
