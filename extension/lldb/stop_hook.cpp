#include "extension/lldb/stop_hook.h"

#include "extension/lldb/own_command.h"

#include <fmt/format.h>

namespace clr::lldb_plugin {

namespace {
// Of the selected target, or of the dummy target when there is none.
void add(lldb::SBDebugger& debugger, std::string_view command, std::string_view arguments) {
  // A target that is run again has its hook still.
  if (!run_own(debugger, "target stop-hook list").output.contains(command))
    run_own(debugger, fmt::format("target stop-hook add -o '{} {}'", command, arguments));
}
} // namespace

void add_stop_hook(lldb::SBTarget& target, std::string_view command, std::string_view arguments) {
  lldb::SBDebugger debugger = target.GetDebugger();
  lldb::SBTarget selected = debugger.GetSelectedTarget();
  debugger.SetSelectedTarget(target);
  add(debugger, command, arguments);
  if (selected.IsValid()) debugger.SetSelectedTarget(selected);
}

void add_stop_hook_of_new_targets(lldb::SBDebugger& debugger, std::string_view command,
                                  std::string_view arguments) {
  if (debugger.GetNumTargets() == 0) add(debugger, command, arguments);
}

} // namespace clr::lldb_plugin
