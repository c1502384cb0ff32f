#include "extension/lldb/step_settings.h"

#include <string>
#include <utility>

namespace clr::lldb_plugin {

namespace {

constexpr const char* avoided_setting = "target.process.thread.step-avoid-regexp";
constexpr std::string_view properties = "[.](get|set|op)_[^.(]*([(]|$)";

std::string avoided(lldb::SBDebugger& debugger) {
  lldb::SBStringList value =
      lldb::SBDebugger::GetInternalVariableValue(avoided_setting, debugger.GetInstanceName());
  const char* const text = value.GetSize() != 0 ? value.GetStringAtIndex(0) : nullptr;
  return text == nullptr ? std::string() : text;
}

} // namespace

bool steps_over_properties(lldb::SBDebugger& debugger) {
  return avoided(debugger).ends_with(properties);
}

void set_steps_over_properties(lldb::SBDebugger& debugger, bool on) {
  if (on == steps_over_properties(debugger)) return;
  std::string names = avoided(debugger);
  if (on) {
    names += (names.empty() ? "" : "|") + std::string(properties);
  } else {
    names.resize(names.size() - properties.size());
    if (names.ends_with('|')) names.pop_back();
  }
  lldb::SBDebugger::SetInternalVariable(avoided_setting, names.c_str(), debugger.GetInstanceName());
}

bool is_property_or_operator(std::string_view method) {
  const std::string_view name = method.substr(method.rfind('.') + 1);
  return name.starts_with("get_") || name.starts_with("set_") || name.starts_with("op_");
}

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
