#include "extension/lldb/stop_hook.h"

#include <fmt/format.h>

namespace clr::lldb_plugin {

void add_stop_hook(lldb::SBTarget& target, std::string_view command) {
  lldb::SBDebugger debugger = target.GetDebugger();
  lldb::SBCommandInterpreter interpreter = debugger.GetCommandInterpreter();
  lldb::SBTarget selected = debugger.GetSelectedTarget();
  lldb::SBCommandReturnObject list, added;
  debugger.SetSelectedTarget(target); // whose hooks the commands mean
  interpreter.HandleCommand("target stop-hook list", list);
  const char* hooks = list.GetOutput();
  // A target that is run again has its hook still.
  if (hooks == nullptr || std::string_view(hooks).find(command) == std::string_view::npos)
    interpreter.HandleCommand(fmt::format("target stop-hook add -o '{}'", command).c_str(), added);
  if (selected.IsValid()) debugger.SetSelectedTarget(selected);
}

} // namespace clr::lldb_plugin
