// Commands that LLDB runs by itself at each stop.
#pragma once

#include <lldb/API/LLDB.h>

#include <string_view>

namespace clr::lldb_plugin {

// Has LLDB run `command` with `arguments` at each stop of `target`, before the stop is printed. A target that
// has a hook of the command already, with whatever arguments, gets no second one. LLDB runs a hook once for
// each thread that stopped for a reason, under a header when there are several.
void add_stop_hook(lldb::SBTarget& target, std::string_view command, std::string_view arguments);
// The same of every target that `debugger` makes from now on, which copies the hooks of LLDB's dummy target.
// Nothing is done when it has a target already, which the command would mean.
void add_stop_hook_of_new_targets(lldb::SBDebugger& debugger, std::string_view command,
                                  std::string_view arguments);

} // namespace clr::lldb_plugin
