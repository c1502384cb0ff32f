#include "extension/lldb/thread_plans.h"

#include "extension/lldb/own_command.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace clr::lldb_plugin {

// Element 0 of the active plans is the base plan, which every thread has.
StepUnderWay step_under_way(lldb::SBThread& thread) {
  const std::string text = run_own(thread, fmt::format("thread plan list {}", thread.GetIndexID())).output;
  const std::size_t active = text.find("Active plan stack");
  if (active == std::string::npos) return StepUnderWay::none;
  std::string_view plans = std::string_view(text).substr(active);
  for (const char* const other : {"Completed plan stack", "Discarded plan stack"})
    plans = plans.substr(0, plans.find(other));
  constexpr std::string_view first = "Element 1: ";
  const std::size_t at = plans.find(first);
  if (at == std::string_view::npos) return StepUnderWay::none;
  const std::string_view plan = plans.substr(at + first.size());
  if (plan.starts_with("Stepping over")) return StepUnderWay::over;
  if (plan.starts_with("Stepping in") || plan.starts_with("Stepping through")) return StepUnderWay::into;
  if (plan.starts_with("Stepping out")) return StepUnderWay::out;
  return StepUnderWay::other;
}

} // namespace clr::lldb_plugin
