// LLDB's commands that the plugin runs for itself: some things LLDB tells by a command alone.
#pragma once

#include <lldb/API/LLDB.h>

#include <string>

namespace clr::lldb_plugin {

struct OwnAnswer {
  bool succeeded = false;
  std::string output, error;
};

// LLDB's answer to `command`. What the plugin does before a user's command of that name is left out: the
// answer is the same as if the plugin were not loaded, and nothing is published for it.
OwnAnswer run_own(const lldb::SBDebugger& debugger, const std::string& command);
// For the thread, instead of for the one that the user selected.
OwnAnswer run_own(lldb::SBThread& thread, const std::string& command);

// Whether this thread is inside of run_own().
bool runs_own();

} // namespace clr::lldb_plugin
