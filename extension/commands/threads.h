// Threads as commands name and show them.
#pragma once

#include "extension/session/stack_walk.h"

#include <lldb/API/LLDB.h>

#include <string>
#include <vector>

namespace clr::lldb_plugin {

// The threads that `words` name: numbers as LLDB counts, "all"; the selected one when there are none. Throws
// Error{invalid_argument} for a word that names no thread.
std::vector<lldb::SBThread> choose_threads(lldb::SBProcess& process, const std::vector<std::string>& words);

// "thread #1, name = 'app', stop reason = signal SIGSTOP", as LLDB heads its own backtraces, without colours.
std::string thread_header(lldb::SBThread& thread);

} // namespace clr::lldb_plugin
