// Ends the steps that LLDB has under way, for which its API has no call.
#pragma once

#include <lldb/API/LLDB.h>

#include <cstddef>

namespace clr::lldb_plugin {

// The steps of `thread` that began behind its first `kept` ones end where they are, without a stop. For
// callbacks of breakpoints, too. Cost: two commands of LLDB's.
void end_steps(lldb::SBThread& thread, std::size_t kept);

} // namespace clr::lldb_plugin
