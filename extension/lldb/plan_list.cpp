#include "extension/lldb/plan_list.h"

#include <fmt/format.h>

namespace clr::lldb_plugin {

namespace {
StepUnderWay kind_of(std::string_view plan) {
  if (plan.starts_with("Stepping over")) return StepUnderWay::over;
  if (plan.starts_with("Stepping in") || plan.starts_with("Stepping through")) return StepUnderWay::into;
  if (plan.starts_with("Stepping out")) return StepUnderWay::out;
  return StepUnderWay::other;
}
} // namespace

// Element 0 of the active plans is the base plan, which every thread has.
StepsUnderWay steps_in_list(std::string_view text) {
  const std::size_t active = text.find("Active plan stack");
  if (active == std::string_view::npos) return {};
  std::string_view plans = text.substr(active);
  for (const char* const other : {"Completed plan stack", "Discarded plan stack"})
    plans = plans.substr(0, plans.find(other));
  StepsUnderWay found;
  while (true) {
    const std::string element = fmt::format("Element {}: ", found.count + 1);
    const std::size_t at = plans.find(element);
    if (at == std::string_view::npos) return found;
    plans.remove_prefix(at + element.size());
    found.last = kind_of(plans);
    ++found.count;
  }
}

} // namespace clr::lldb_plugin
