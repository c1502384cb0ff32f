#include "extension/lldb/plan_list.h"

#include <fmt/format.h>

#include <algorithm>

namespace clr::lldb_plugin {

namespace {
constexpr std::string_view element = "Element ", completed_plans = "Completed plan stack";

StepUnderWay kind_of(std::string_view plan) {
  if (plan.starts_with("Stepping over")) return StepUnderWay::over;
  if (plan.starts_with("Stepping in") || plan.starts_with("Stepping through")) return StepUnderWay::into;
  if (plan.starts_with("Stepping out")) return StepUnderWay::out;
  return StepUnderWay::other;
}

// The part of `text` under one title.
std::string_view part_of(std::string_view text, std::string_view title) {
  std::string_view plans = text.substr(std::min(text.find(title), text.size()));
  if (const std::size_t next = plans.find("plan stack", title.size()); next != std::string_view::npos)
    plans = plans.substr(0, next);
  return plans;
}

// The numbers of those that have ended begin with 0, and the outermost one ends last.
StepUnderWay last_of(std::string_view text, std::string_view title) {
  std::string_view plans = part_of(text, title);
  StepUnderWay last = StepUnderWay::none;
  for (std::size_t at = plans.find(element); at != std::string_view::npos; at = plans.find(element)) {
    plans.remove_prefix(at + element.size());
    const std::size_t colon = plans.find(": ");
    if (colon == std::string_view::npos) break;
    const StepUnderWay kind = kind_of(plans.substr(colon + 2));
    if (kind != StepUnderWay::other) last = kind;
  }
  return last;
}

// LLDB discards a step when a breakpoint is hit in a caller of its frame.
StepUnderWay last_ended(std::string_view text) {
  const StepUnderWay completed = last_of(text, completed_plans);
  return completed != StepUnderWay::none ? completed : last_of(text, "Discarded plan stack");
}
} // namespace

bool names_completed(std::string_view text) {
  return part_of(text, completed_plans).find(element) != std::string_view::npos;
}

// Element 0 of the active plans is the base plan, which every thread has.
StepsUnderWay steps_in_list(std::string_view text, std::size_t kept) {
  const std::size_t active = text.find("Active plan stack");
  if (active == std::string_view::npos) return {.ended = last_ended(text)};
  std::string_view plans = text.substr(active);
  for (const char* const other : {"Completed plan stack", "Discarded plan stack"})
    plans = plans.substr(0, plans.find(other));
  StepsUnderWay found;
  found.ended = last_ended(text);
  while (true) {
    const std::string next = fmt::format("{}{}: ", element, found.count + 1);
    const std::size_t at = plans.find(next);
    if (at == std::string_view::npos) return found;
    plans.remove_prefix(at + next.size());
    if (++found.count == kept + 1) found.asked = kind_of(plans);
  }
}

} // namespace clr::lldb_plugin
