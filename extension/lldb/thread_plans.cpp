#include "extension/lldb/thread_plans.h"

#include "extension/lldb/own_command.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace clr::lldb_plugin {

// Element 0 of the active plans is the base plan, which every thread has.
bool is_stepping(lldb::SBThread& thread) {
  const std::string text = run_own(thread, fmt::format("thread plan list {}", thread.GetIndexID())).output;
  const std::size_t active = text.find("Active plan stack");
  if (active == std::string::npos) return false;
  std::string_view plans = std::string_view(text).substr(active);
  for (const char* const other : {"Completed plan stack", "Discarded plan stack"})
    plans = plans.substr(0, plans.find(other));
  return plans.find("Element 1: ") != std::string_view::npos;
}

} // namespace clr::lldb_plugin
