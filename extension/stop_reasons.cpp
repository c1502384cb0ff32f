#include "extension/stop_reasons.h"

#include "extension/hidden_breakpoints.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace clr::lldb_plugin {

namespace {
// LLDB's own breakpoint in the dynamic loader is a stop when the user has said so.
bool stops_at_libraries(lldb::SBTarget& target) {
  lldb::SBDebugger debugger = target.GetDebugger();
  lldb::SBStringList values = lldb::SBDebugger::GetInternalVariableValue(
      "target.process.stop-on-sharedlibrary-events", debugger.GetInstanceName());
  const char* const value = values.GetSize() != 0 ? values.GetStringAtIndex(0) : nullptr;
  return value != nullptr && std::string_view(value) == "true";
}

// At breakpoints that are no stops: LLDB's own, which have negative numbers, most of ours, and those that
// continue by themselves.
bool lets_go_on(lldb::SBTarget& target, lldb::SBThread& thread) {
  // Pairs of a breakpoint's and a location's number.
  for (std::size_t i = 0; i < thread.GetStopReasonDataCount(); i += 2) {
    const auto id =
        static_cast<lldb::break_id_t>(thread.GetStopReasonDataAtIndex(static_cast<std::uint32_t>(i)));
    if (id < 0 && !stops_at_libraries(target)) continue;
    lldb::SBBreakpoint breakpoint = target.FindBreakpointByID(id);
    if (breakpoint.IsValid() && !is_passing(breakpoint) && !breakpoint.GetAutoContinue()) return false;
  }
  return true;
}

// At a breakpoint that was LLDB's own, on the way of a step: these have negative numbers.
bool is_of_step(lldb::SBThread& thread) {
  std::array<char, 64> text{};
  thread.GetStopDescription(text.data(), text.size());
  return std::string_view(text.data()).starts_with("breakpoint -");
}

// Of a thread at a signal: whether that stops the process.
bool stops(lldb::SBTarget& target, lldb::SBThread& thread) {
  const auto number = static_cast<std::int32_t>(thread.GetStopReasonDataAtIndex(0));
  return target.GetProcess().GetUnixSignals().GetShouldStop(number);
}

// What a thread that stopped tells the user, most first.
enum class Stop : std::uint8_t { asked, unknown, passing, none };

Stop stop_of(lldb::SBTarget& target, lldb::SBThread& thread) {
  switch (thread.GetStopReason()) {
  case lldb::eStopReasonInvalid:
  case lldb::eStopReasonNone:
    return Stop::none;
  case lldb::eStopReasonBreakpoint:
    // Of a place whose breakpoints are gone LLDB does not tell which they were.
    if (thread.GetStopReasonDataCount() == 0) return is_of_step(thread) ? Stop::passing : Stop::unknown;
    return lets_go_on(target, thread) ? Stop::passing : Stop::asked;
  case lldb::eStopReasonSignal:
    return stops(target, thread) ? Stop::asked : Stop::passing;
  default:
    return Stop::asked;
  }
}
} // namespace

void select_asked_stop(lldb::SBTarget& target) {
  lldb::SBProcess process = target.GetProcess();
  lldb::SBThread best = process.GetSelectedThread();
  Stop most = stop_of(target, best);
  for (std::uint32_t i = 0; i < process.GetNumThreads() && most != Stop::asked; ++i) {
    lldb::SBThread thread = process.GetThreadAtIndex(i);
    if (const Stop stop = stop_of(target, thread); stop < most) {
      most = stop;
      best = thread;
    }
  }
  if (best.GetThreadID() != process.GetSelectedThread().GetThreadID()) process.SetSelectedThread(best);
}

bool nobody_asked_to_stop(lldb::SBTarget& target, const std::function<bool(lldb::addr_t)>& is_ours) {
  lldb::SBProcess process = target.GetProcess();
  bool passing = false;
  for (std::uint32_t i = 0; i < process.GetNumThreads(); ++i) {
    lldb::SBThread thread = process.GetThreadAtIndex(i);
    Stop stop = stop_of(target, thread);
    if (stop == Stop::unknown && is_ours(thread.GetFrameAtIndex(0).GetPC())) stop = Stop::passing;
    if (stop < Stop::passing) return false;
    passing = passing || (stop == Stop::passing && thread.GetStopReason() == lldb::eStopReasonBreakpoint);
  }
  return passing;
}

lldb::SBThread thread_at_lone_signal(lldb::SBTarget& target) {
  lldb::SBProcess process = target.GetProcess();
  lldb::SBThread at_signal;
  for (std::uint32_t i = 0; i < process.GetNumThreads(); ++i) {
    lldb::SBThread thread = process.GetThreadAtIndex(i);
    if (stop_of(target, thread) >= Stop::passing) continue;
    if (thread.GetStopReason() != lldb::eStopReasonSignal || at_signal.IsValid()) return {};
    at_signal = thread;
  }
  return at_signal;
}

} // namespace clr::lldb_plugin
