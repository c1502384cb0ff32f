#include "extension/lldb/thread_plans.h"

#include "extension/lldb/own_command.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>

namespace clr::lldb_plugin {

StepsUnderWay steps_under_way(lldb::SBThread& thread, std::size_t kept) {
  return steps_in_list(run_own(thread, fmt::format("thread plan list {}", thread.GetIndexID())).output, kept);
}

bool stops_without_reason(lldb::SBThread& thread) {
  const auto list = [&](std::string_view option) {
    return run_own(thread, fmt::format("thread plan list {}{}", option, thread.GetIndexID())).output;
  };
  return names_completed(list("--internal ")) && !names_completed(list(""));
}

namespace {
std::string description_of(lldb::SBThread& thread) {
  std::array<char, 64> text{};
  thread.GetStopDescription(text.data(), text.size());
  return text.data();
}
} // namespace

bool has_failed_step(lldb::SBThread& thread) {
  if (thread.GetStopReason() != lldb::eStopReasonPlanComplete) return false;
  const std::string description = description_of(thread);
  return description.starts_with("step over failed") || description.starts_with("step in failed") ||
         description.starts_with("step out failed");
}

StepUnderWay ended_step(lldb::SBThread& thread) {
  if (thread.GetStopReason() != lldb::eStopReasonPlanComplete) return StepUnderWay::none;
  const std::string description = description_of(thread);
  if (description.starts_with("step over")) return StepUnderWay::over;
  if (description.starts_with("step in")) return StepUnderWay::into;
  return description.starts_with("step out") ? StepUnderWay::out : StepUnderWay::other;
}

} // namespace clr::lldb_plugin
