// Threads as commands name and show them.
#pragma once

#include "core/runtime/stack_rows.h"
#include "extension/session/session.h"

#include <lldb/API/LLDB.h>

#include <string>
#include <vector>

namespace clr::lldb_plugin {

// The threads that `words` name: numbers as LLDB counts, "all"; the selected one when there are none. Throws
// Error{invalid_argument} for a word that names no thread.
std::vector<lldb::SBThread> choose_threads(lldb::SBProcess& process, const std::vector<std::string>& words);

// "thread #1, name = 'app', stop reason = signal SIGSTOP", as LLDB heads its own backtraces, without colours.
std::string thread_header(lldb::SBThread& thread);

// The row of `thread`, with what the runtime knows of it.
ThreadRow describe_thread(Session& session, lldb::SBThread& thread, lldb::tid_t selected);

} // namespace clr::lldb_plugin
