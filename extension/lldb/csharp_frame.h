// Expressions of C# at a frame of LLDB's.
#pragma once

#include <lldb/API/LLDB.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace clr::lldb_plugin {

// Called with an expression that may name a type: LLDB knows types only when it is told of them.
using DescribeTypes = std::function<void(std::string_view expression)>;

// csharp_expression() at `frame`, when LLDB has no meaning for `text` there, and has one for the answer.
// Nothing runs in the process, and nothing of it is read. Cost: LLDB compiles an expression for each
// question.
std::optional<std::string> csharp_at(lldb::SBFrame& frame, std::string_view text,
                                     const DescribeTypes& describe);

} // namespace clr::lldb_plugin
