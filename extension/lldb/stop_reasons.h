// The reasons that the threads of a stopped process give the user. Some of the breakpoints that they came to
// are the plugin's own.
#pragma once

#include "extension/lldb/thread_stop.h"

#include <lldb/API/LLDB.h>

#include <vector>

namespace clr::lldb_plugin {

// One for each thread of the process of `target`, the selected one first.
std::vector<ThreadStop> thread_stops(lldb::SBTarget& target);

} // namespace clr::lldb_plugin
