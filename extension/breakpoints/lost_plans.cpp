// Steps whose plan the debugger gives up, or cannot lead on: they go on by places of the plugin's.
#include "core/memory/error.h"
#include "extension/breakpoints/managed_steps.h"
#include "extension/lldb/step_end.h"
#include "extension/lldb/thread_plans.h"

#include <algorithm>
#include <utility>

namespace clr::lldb_plugin {

// Nothing of the debugger's is left of the step. Where another thread has gone on with it the debugger has no
// plan for it.
void ManagedSteps::end_plan(lldb::SBThread& thread) {
  const bool begun = thread.GetThreadID() == plans_.of;
  end_steps(thread, begun ? plans_.before : steps_under_way(thread).count);
}

// The debugger's plan cannot lead the step on. It ends at what the plan would have come to: other lines of
// its frame, and the line of the caller that it returns to.
bool ManagedSteps::go_by_places(lldb::SBThread& thread) {
  const std::uint64_t id = thread.GetThreadID();
  if (stood_.frame.pc == 0 || handlers_.thread() != id || plans_.of != id) return false;
  end_plan(thread);
  std::size_t planted = 0;
  if (!stood_.out)
    for (const AwaitWatch::Line& line : lines_of(target_, stood_.frame.pc))
      if (line.line != 0 && line.line != stood_.line && ++planted <= AwaitWatch::max_lines)
        handlers_.stop_at(line.begin, stood_.frame.rbp);
  if (stood_.caller.pc != 0) handlers_.stop_behind(stood_.caller.pc, stood_.caller.rbp);
  return true;
}

void ManagedSteps::goes_on_with_others(std::uint64_t id) {
  lldb::SBThread thread = target_.GetProcess().GetThreadByID(id);
  if (!thread.IsValid() || id != plans_.of) return;
  // The debugger may have given up the plan at this stop; that it let one thread run alone was for a step.
  if (expected_of_ == id)
    if (const StepsUnderWay steps = steps_under_way(thread); steps.count <= plans_.before)
      begun(steps.ended != StepUnderWay::none ? steps.ended : StepUnderWay::over);
  if (!is_step()) return;
  stands_ = thread;
  go_by_places(thread);
}

// The thread came back to the runtime, which was to let it return later: LLDB has given its plan up.
bool ManagedSteps::goes_on_behind_hijack() {
  try {
    lldb::SBThread thread = target_.GetProcess().GetThreadByID(handlers_.thread());
    if (!thread.IsValid() || thread.GetStopReason() != lldb::eStopReasonPlanComplete) return false;
    const auto hijack = hijacks_.returned(*sessions_->after_short_run(), thread);
    if (!hijack) return false;
    if (expected_of_ != 0) begun(ended_step(thread));
    if (hijack->slot + sizeof(Address) != stood_.cfa) { // a method that the step's has called returned
      stands_ = thread;
      return go_by_places(thread);
    }
    end_plan(thread);
    lldb::SBFrame frame = thread.GetFrameAtIndex(0);
    handlers_.stop_behind(hijack->original, frame_pointer(frame));
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Where a step into it would end, LLDB takes a called method for the end of a step over it.
bool ManagedSteps::goes_on_out_of_call() {
  lldb::SBThread thread = target_.GetProcess().GetThreadByID(plans_.of);
  if (!thread.IsValid() || stood_.cfa == 0 || ended_step(thread) != StepUnderWay::over) return false;
  lldb::SBFrame frame = thread.GetFrameAtIndex(0);
  // The handlers of the step's method have its frame pointer.
  if (frame.GetCFA() >= stood_.cfa || frame_pointer(frame) == stood_.frame.rbp) return false;
  if (expected_of_ != 0) begun(StepUnderWay::over);
  stands_ = thread;
  return go_by_places(thread);
}

// LLDB found no way out of code that it does not know, for example of the runtime's handler of a signal.
bool ManagedSteps::goes_on_after_failure() {
  lldb::SBThread thread = target_.GetProcess().GetThreadByID(plans_.of);
  if (!thread.IsValid() || (begun_by_ == 0 && expected_of_ == 0)) return false;
  const bool middle = thread.GetStopReason() == lldb::eStopReasonTrace; // no step ends so
  if (!middle && !has_failed_step(thread)) return false;
  if (expected_of_ != 0) begun(middle ? StepUnderWay::over : ended_step(thread));
  stands_ = thread;
  return go_by_places(thread);
}

void ManagedSteps::take_middle(std::span<ThreadStop> stops) {
  lldb::SBThread thread = target_.GetProcess().GetThreadByID(plans_.of);
  if (!thread.IsValid() || (begun_by_ == 0 && expected_of_ == 0) || has_failed_step(thread)) return;
  const bool single = thread.GetStopReason() == lldb::eStopReasonTrace;
  if (!single && ended_step(thread) == StepUnderWay::none) return;
  const auto found = std::ranges::find(stops, plans_.of, &ThreadStop::thread);
  if (found == stops.end() || steps_under_way(thread).count <= plans_.before) return;
  *found = {.thread = found->thread};
  if (!single) return;
  found->kind = ThreadStop::Kind::passing;
  found->at_breakpoint = true;
}

bool ManagedSteps::go_on(std::span<const ThreadStop> stops) {
  const bool lone = std::ranges::all_of(stops, [&](const ThreadStop& stop) {
    return stop.thread == handlers_.thread() || stop.kind >= ThreadStop::Kind::passing;
  });
  if (lone && (goes_on_behind_hijack() || goes_on_out_of_call() || goes_on_after_failure())) return true;
  // Not the selected one: that may be the one that the first of several steps began with.
  lldb::SBThread thread = target_.GetProcess().GetThreadByID(handlers_.thread());
  return thread.IsValid() && handlers_.goes_on(thread.GetThreadID(), thread.GetFrameAtIndex(0).GetPC());
}

// A thread comes to the places of plans, which have negative numbers, in a step alone.
void ManagedSteps::keep_given_up() {
  if (expected_of_ == 0) return;
  lldb::SBThread thread = target_.GetProcess().GetThreadByID(expected_of_);
  if (!thread.IsValid() || thread.GetStopReason() != lldb::eStopReasonBreakpoint ||
      thread.GetStopReasonDataCount() == 0 ||
      static_cast<lldb::break_id_t>(thread.GetStopReasonDataAtIndex(0)) > 0)
    return;
  for_stops_.under_way = true;
  begun_by_ = std::exchange(expected_of_, 0);
}

} // namespace clr::lldb_plugin
