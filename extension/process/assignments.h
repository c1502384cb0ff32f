// Assignments to references in LLDB's `expression`.
#pragma once

#include "extension/door/door.h"

#include <lldb/API/LLDB.h>

#include <string>

namespace clr::lldb_plugin {

// LLDB takes a reference of managed code for one of C++, in which `order = other` would copy the fields of
// one object into another. When `command`, a whole command with its options, assigns to a reference in the
// selected frame: puts null there, or says that nothing else can be. False when it does something else, so
// that LLDB shall run it.
bool assign_reference(lldb::SBDebugger& debugger, const std::string& command);

} // namespace clr::lldb_plugin
