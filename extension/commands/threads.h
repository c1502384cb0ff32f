// Threads as commands name and show them.
#pragma once

#include "extension/lldb/thread_header.h"
#include "extension/session/stack_walk.h"

#include <lldb/API/LLDB.h>

#include <string>
#include <vector>

namespace clr::lldb_plugin {

// The threads that `words` name: numbers as LLDB counts, "all"; the selected one when there are none. Throws
// Error{invalid_argument} for a word that names no thread.
std::vector<lldb::SBThread> choose_threads(lldb::SBProcess& process, const std::vector<std::string>& words);

} // namespace clr::lldb_plugin
