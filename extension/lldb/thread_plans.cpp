#include "extension/lldb/thread_plans.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace clr::lldb_plugin {

namespace {
std::string ask(lldb::SBThread& thread, const std::string& command) {
  lldb::SBDebugger debugger = thread.GetProcess().GetTarget().GetDebugger();
  lldb::SBExecutionContext context(thread);
  lldb::SBCommandReturnObject result;
  debugger.GetCommandInterpreter().HandleCommand(command.c_str(), context, result);
  const char* const text = result.GetOutput();
  return text != nullptr ? text : "";
}
} // namespace

// Element 0 of the active plans is the base plan, which every thread has.
bool is_stepping(lldb::SBThread& thread) {
  const std::string text = ask(thread, fmt::format("thread plan list {}", thread.GetIndexID()));
  const std::size_t active = text.find("Active plan stack");
  if (active == std::string::npos) return false;
  std::string_view plans = std::string_view(text).substr(active);
  for (const char* const other : {"Completed plan stack", "Discarded plan stack"})
    plans = plans.substr(0, plans.find(other));
  return plans.find("Element 1: ") != std::string_view::npos;
}

} // namespace clr::lldb_plugin
