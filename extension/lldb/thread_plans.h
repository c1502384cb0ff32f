// The steps that LLDB has under way. Its API does not tell of them; the command `thread plan` does.
#pragma once

#include <lldb/API/LLDB.h>

namespace clr::lldb_plugin {

// Whether a step of `thread` has begun and not ended, of a command or of the API. For callbacks of
// breakpoints, too. Cost: a command of LLDB's.
bool is_stepping(lldb::SBThread& thread);

} // namespace clr::lldb_plugin
