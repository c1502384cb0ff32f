// A thread in one line.
#pragma once

#include <lldb/API/LLDB.h>

#include <string>

namespace clr::lldb_plugin {

// "thread #1, name = 'app', stop reason = signal SIGSTOP", as LLDB heads its own backtraces, without colours.
std::string thread_header(lldb::SBThread& thread);

} // namespace clr::lldb_plugin
