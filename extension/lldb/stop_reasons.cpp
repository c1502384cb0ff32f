#include "extension/lldb/stop_reasons.h"

#include "extension/lldb/hidden_breakpoints.h"

#include <algorithm>
#include <array>
#include <csignal>
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

// True when the thread stands only at breakpoints that are no stops: LLDB's own, which have negative numbers,
// most of the plugin's, all of them if it has `passed`, those that continue by themselves, and of the user's
// places that are disabled and hits that are not counted yet.
bool lets_go_on(lldb::SBTarget& target, lldb::SBThread& thread, const StepsOfPlugin& steps) {
  const bool passed = steps.passed.contains(thread.GetThreadID());
  // Pairs of a breakpoint's and a location's number.
  for (std::size_t i = 0; i < thread.GetStopReasonDataCount(); i += 2) {
    const auto id =
        static_cast<lldb::break_id_t>(thread.GetStopReasonDataAtIndex(static_cast<std::uint32_t>(i)));
    if (id < 0 && !stops_at_libraries(target)) continue;
    lldb::SBBreakpoint breakpoint = target.FindBreakpointByID(id);
    if (!breakpoint.IsValid() && steps.one_shots.contains(id)) return false;
    if (!breakpoint.IsValid() || breakpoint.GetAutoContinue()) continue;
    // A place that was found wrong at this stop: a client has set the breakpoint since the one before.
    lldb::SBBreakpointLocation location = breakpoint.FindLocationByID(
        static_cast<lldb::break_id_t>(thread.GetStopReasonDataAtIndex(static_cast<std::uint32_t>(i) + 1)));
    if (location.IsValid() && !location.IsEnabled()) continue;
    // It has more hits to go over yet: this was one of them.
    if (breakpoint.GetIgnoreCount() != 0 || (location.IsValid() && location.GetIgnoreCount() != 0)) continue;
    if (passed ? !is_hidden(breakpoint) : !is_passing(breakpoint)) return false;
  }
  return true;
}

// At a breakpoint that was LLDB's own, on the way of a step: these have negative numbers, or are told of by
// what they were for.
bool is_of_step(lldb::SBThread& thread) {
  std::array<char, 64> text{};
  thread.GetStopDescription(text.data(), text.size());
  const std::string_view description(text.data());
  return std::ranges::any_of(
      std::array<std::string_view, 3>{"breakpoint -", "internal step-out ", "internal next-branch-location "},
      [&](std::string_view begin) { return description.starts_with(begin); });
}

// Of a thread at a signal: whether that stops the process.
bool stops(lldb::SBTarget& target, lldb::SBThread& thread) {
  const auto number = static_cast<std::int32_t>(thread.GetStopReasonDataAtIndex(0));
  return target.GetProcess().GetUnixSignals().GetShouldStop(number);
}

// At a trap where LLDB has removed a breakpoint of its own: a step of another thread, which came there in the
// same moment, has no use for it any more. A trap of the program's stands before the place. Elsewhere than on
// x86 nothing tells them apart.
bool is_left_trap(lldb::SBThread& thread) {
  if (thread.GetStopReasonDataAtIndex(0) != SIGTRAP) return false;
  lldb::SBFrame frame = thread.GetFrameAtIndex(0);
  constexpr std::uint8_t trap = 0xCC;
  std::uint8_t before = trap;
  lldb::SBError error;
  thread.GetProcess().ReadMemory(frame.GetPC() - 1, &before, 1, error);
  return frame.FindRegister("rip").IsValid() && error.Success() && before != trap;
}

ThreadStop stop_of(lldb::SBTarget& target, lldb::SBThread& thread, const StepsOfPlugin& steps) {
  using Kind = ThreadStop::Kind;
  ThreadStop stop{.thread = thread.GetThreadID()};
  switch (thread.GetStopReason()) {
  case lldb::eStopReasonInvalid:
  case lldb::eStopReasonNone:
    break;
  case lldb::eStopReasonBreakpoint:
    stop.at_breakpoint = true;
    if (thread.GetStopReasonDataCount() != 0) {
      stop.kind = lets_go_on(target, thread, steps) ? Kind::passing : Kind::asked;
    } else { // LLDB does not tell which breakpoints were there
      stop.kind = is_of_step(thread) ? Kind::passing : Kind::unknown;
      stop.pc = thread.GetFrameAtIndex(0).GetPC();
    }
    break;
  case lldb::eStopReasonSignal:
    if (steps.under_way && is_left_trap(thread)) {
      stop.at_breakpoint = true;
      stop.kind = Kind::passing;
      break;
    }
    stop.at_signal = true;
    stop.at_interrupt = thread.GetStopReasonDataAtIndex(0) == SIGSTOP;
    stop.kind = stops(target, thread) ? Kind::asked : Kind::passing;
    break;
  case lldb::eStopReasonTrace: // on the way: a step that has ended tells that
    stop.at_breakpoint = steps.under_way;
    stop.kind = steps.under_way ? Kind::passing : Kind::asked;
    break;
  default:
    stop.kind = Kind::asked;
  }
  return stop;
}
} // namespace

std::vector<ThreadStop> thread_stops(lldb::SBTarget& target, const StepsOfPlugin& steps) {
  lldb::SBProcess process = target.GetProcess();
  std::vector<ThreadStop> stops;
  lldb::SBThread selected = process.GetSelectedThread();
  const lldb::tid_t first = selected.GetThreadID();
  if (selected.IsValid()) stops.push_back(stop_of(target, selected, steps));
  for (std::uint32_t i = 0; i < process.GetNumThreads(); ++i) {
    lldb::SBThread thread = process.GetThreadAtIndex(i);
    if (thread.GetThreadID() != first) stops.push_back(stop_of(target, thread, steps));
  }
  return stops;
}

} // namespace clr::lldb_plugin
