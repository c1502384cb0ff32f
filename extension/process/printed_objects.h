// Managed objects as `expression`, `p` and `po` print them, where LLDB cannot.
#pragma once

#include "extension/door/door.h"

#include <lldb/API/LLDB.h>

#include <string>

namespace clr::lldb_plugin {

// LLDB's object description is a call of the target's code for other languages, and nothing for C++, for
// which it takes managed code. When `command`, a whole command with its options, asks for one of a managed
// object, given by a variable, a cast or its address, shows the object as `clr object` does. False when it
// does something else, so that LLDB shall run it.
bool print_object(lldb::SBDebugger& debugger, const std::string& command);

// Of a core LLDB copies what an expression refers to, so that its address is lost: a text would be its first
// character, and a collection its fields. When the expression of `command`, which has no options, is a
// managed object of a core, shows it as `frame variable` does. False as above.
bool print_object_of_core(lldb::SBDebugger& debugger, const std::string& command);

} // namespace clr::lldb_plugin
