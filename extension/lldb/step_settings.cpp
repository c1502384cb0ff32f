#include "extension/lldb/step_settings.h"

#include <string>
#include <utility>

namespace clr::lldb_plugin {

void StepSettings::set(std::string_view name, const char* value) {
  lldb::SBDebugger::SetInternalVariable(std::string(name).c_str(), value,
                                        target_.GetDebugger().GetInstanceName());
}

void StepSettings::switch_on(std::string_view name) {
  lldb::SBStringList value = lldb::SBDebugger::GetInternalVariableValue(
      std::string(name).c_str(), target_.GetDebugger().GetInstanceName());
  const char* const text = value.GetSize() != 0 ? value.GetStringAtIndex(0) : nullptr;
  if (text == nullptr || std::string_view(text) != "false") return; // the user has chosen it, or it is on
  set(name, "true");
  changed_.insert(name);
}

void StepSettings::restore() {
  for (const std::string_view name : std::exchange(changed_, {})) set(name, "false");
}

} // namespace clr::lldb_plugin
