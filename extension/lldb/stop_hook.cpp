#include "extension/lldb/stop_hook.h"

#include "extension/lldb/own_command.h"

#include <fmt/format.h>

namespace clr::lldb_plugin {

void add_stop_hook(lldb::SBTarget& target, std::string_view command) {
  lldb::SBDebugger debugger = target.GetDebugger();
  lldb::SBTarget selected = debugger.GetSelectedTarget();
  debugger.SetSelectedTarget(target); // whose hooks the commands mean
  // A target that is run again has its hook still.
  if (!run_own(debugger, "target stop-hook list").output.contains(command))
    run_own(debugger, fmt::format("target stop-hook add -o '{}'", command));
  if (selected.IsValid()) debugger.SetSelectedTarget(selected);
}

} // namespace clr::lldb_plugin
