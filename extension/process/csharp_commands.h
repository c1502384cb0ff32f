// LLDB's commands that evaluate an expression, with one of C#.
#pragma once

#include "extension/lldb/csharp_frame.h"

#include <lldb/API/LLDB.h>

#include <string>

namespace clr::lldb_plugin {

// When the command evaluates in a managed frame what LLDB has no meaning for and C# has: evaluates that, and
// returns true. Cost: that LLDB evaluates the expression once more, but for the path of a variable.
bool evaluate_csharp(lldb::SBDebugger& debugger, const std::string& command, const DescribeTypes& describe);

} // namespace clr::lldb_plugin
