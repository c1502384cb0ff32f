// Steps whose plan the debugger gives up, or cannot lead on: what keeps it from that, and how they go on by
// places of the plugin's.
#include "core/isa/architecture.h"
#include "core/memory/error.h"
#include "extension/breakpoints/managed_steps.h"
#include "extension/lldb/frame_line.h"
#include "extension/lldb/native_modules.h"
#include "extension/lldb/step_end.h"
#include "extension/lldb/thread_plans.h"

#include <algorithm>
#include <utility>

namespace clr::lldb_plugin {

namespace {
// Where the last frame that LLDB finds, that before `index`, returns to: a caller in code that nothing is
// known of is no frame at all. 0: not known.
Address hidden_caller(lldb::SBThread& thread, std::uint32_t index, Cpu cpu) {
  if (!architecture_of(cpu).returns_by_stack()) return 0;
  lldb::SBFrame frame = thread.GetFrameAtIndex(index - 1);
  lldb::SBProcess process = thread.GetProcess();
  const Address cfa = frame.IsValid() ? frame.GetCFA() : LLDB_INVALID_ADDRESS;
  if (cfa == LLDB_INVALID_ADDRESS || cfa == 0) return 0;
  lldb::SBError error;
  const Address found = process.ReadPointerFromMemory(cfa - process.GetAddressByteSize(), error);
  return error.Success() ? found : 0;
}
} // namespace

// Of the code that was compiled since the step began LLDB knows nothing; where it cannot unwind through that,
// it takes the step for lost and ends it in the middle of the runtime.
void ManagedSteps::let_unwind(lldb::SBThread& thread) {
  if (!publishing_->begun() || !is_stepping(thread)) return;
  std::shared_ptr<Session> session; // made when there is a frame to look at
  Address last = 0;                 // that was published
  for (std::uint32_t i = 1; i < HandlerFrames::max_frames;) {
    // A frame that was published now has another caller than it seemed to have.
    lldb::SBFrame frame = thread.GetFrameAtIndex(i);
    if (frame.IsValid() && publishing_->holds(frame.GetPC() - 1)) {
      ++i;
      continue;
    }
    if (!session) session = sessions_->after_short_run();
    Runtime& runtime = session->runtime();
    if (runtime.absence() != nullptr) return;
    const Address returns =
        frame.IsValid() ? frame.GetPC() : hidden_caller(thread, i, runtime.platform().cpu);
    if (returns == 0) return;
    const Address call = returns - 1;
    const bool managed = std::holds_alternative<CodeBlock>(runtime.code()->find(call));
    if (managed && std::exchange(last, call) != call) {
      publishing_->add(*session, call);
      continue;
    }
    if (!frame.IsValid()) return;
    ++i;
  }
}

// LLDB stops by itself when the process loads a library, and looks at the plan of the step there: it must be
// able to unwind through what was compiled since the step began.
void ManagedSteps::watch_loader() {
  if (loader_ == 0) loader_ = function_in(target_, "ld-", "_dl_debug_state");
  if (loader_ != 0) look_at(loader_);
}

// Until the step has ended the plugin looks at what thread comes to `place`, where none stops.
void ManagedSteps::look_at(Address place) {
  if (looks_.size() >= max_looks) {
    for (const auto& [known, number] : looks_) passing_.remove(number);
    looks_.clear();
  }
  int& number = looks_[place];
  if (number != 0) return passing_.enable(number, true);
  number = passing_.plant(place);
}

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

// An exception came to a handler without lines, and no plan follows it out of that.
std::vector<Address> ManagedSteps::lines_behind(Address handler) {
  try {
    const std::shared_ptr<Session> session = sessions_->after_short_run();
    const std::vector<ResumePlace> resumes = HandlerFrames::resumes(*session, handler);
    if (resumes.empty()) return {};
    return places_behind_handler(*session, handler, resumes);
  } catch (const Error&) {
    return {}; // the step ends in the caller
  }
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
  // The handlers of the step's method have its frame pointer. Those of methods that it has called, which run
  // behind one of its filters, have a lower one, wherever the runtime calls them.
  const Address pointer = frame_pointer(frame);
  const bool called = stood_.frame.funclet && pointer < stood_.frame.rbp;
  if ((frame.GetCFA() >= stood_.cfa && !called) || pointer == stood_.frame.rbp) return false;
  if (expected_of_ != 0) begun(StepUnderWay::over);
  stands_ = thread;
  return go_by_places(thread);
}

// LLDB (14) ends a step in the framework's code that it came out to, whatever its setting says.
bool ManagedSteps::goes_on_to_lines() {
  lldb::SBThread thread = target_.GetProcess().GetThreadByID(plans_.of);
  const bool awaited = awaits_.thread() == plans_.of; // its task is followed
  // Not when it has ended: then its task alone is followed, and who called it on this stack does not await
  // it.
  const bool by_places = stood_.caller.pc != 0 && handlers_.thread() == plans_.of;
  if (!thread.IsValid() || !stood_.frame.has_line || (!by_places && !awaited)) return false;
  const StepUnderWay ended = ended_step(thread);
  if (ended != StepUnderWay::over && ended != StepUnderWay::out) return false;
  lldb::SBFrame frame = thread.GetFrameAtIndex(0);
  if (frame.GetCFA() <= stood_.cfa || has_line(frame)) return false;
  if (expected_of_ != 0) begun(ended);
  stands_ = thread;
  if (by_places) return go_by_places(thread);
  end_plan(thread);
  return true;
}

// LLDB (14) takes the start of an iterator that the framework calls again, in a frame like the one that the
// step has left, for the end of the step. The lines that the iterator may go on at are places by now.
bool ManagedSteps::goes_on_in_iterator() {
  lldb::SBThread thread = target_.GetProcess().GetThreadByID(plans_.of);
  if (!thread.IsValid() || calls_.thread() != plans_.of ||
      !calls_.goes_on_at(thread.GetFrameAtIndex(0).GetPC()))
    return false;
  const StepUnderWay ended = ended_step(thread);
  if (ended != StepUnderWay::over && ended != StepUnderWay::into) return false;
  if (expected_of_ != 0) begun(ended);
  stands_ = thread;
  if (!go_by_places(thread)) end_plan(thread);
  return true;
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
  const auto found = std::ranges::find(stops, plans_.of, &ThreadStop::thread);
  if (found == stops.end()) return;
  const bool interrupted = std::ranges::any_of(stops, &ThreadStop::at_interrupt);
  bool passing = thread.GetStopReason() == lldb::eStopReasonTrace;
  if (interrupted && found->kind == ThreadStop::Kind::none)
    passing = stops_without_reason(thread);
  else if (!passing && ended_step(thread) == StepUnderWay::none)
    return;
  if (steps_under_way(thread).count <= plans_.before) return;
  *found = {.thread = found->thread};
  if (!passing) return;
  found->kind = ThreadStop::Kind::passing;
  found->at_breakpoint = true;
}

bool ManagedSteps::ended_here() {
  return ended_.thread != 0 && ended_.stop == target_.GetProcess().GetStopID();
}

void ManagedSteps::add_end(std::span<ThreadStop> stops) {
  if (!ended_here()) return;
  const auto found = std::ranges::find(stops, ended_.thread, &ThreadStop::thread);
  if (found != stops.end() && found->kind == ThreadStop::Kind::none) found->kind = ThreadStop::Kind::asked;
}

bool ManagedSteps::go_on(std::span<const ThreadStop> stops) {
  // Behind an async method that has ended no exceptions are followed, but its task is.
  const std::uint64_t steps = handlers_.thread() != 0 ? handlers_.thread() : awaits_.thread();
  const bool lone = std::ranges::all_of(stops, [&](const ThreadStop& stop) {
    return stop.thread == steps || stop.kind >= ThreadStop::Kind::passing;
  });
  if (lone && (goes_on_behind_hijack() || goes_on_in_iterator() || goes_on_out_of_call() ||
               goes_on_to_lines() || goes_on_after_failure()))
    return true;
  // Not the selected one: that may be the one that the first of several steps began with.
  lldb::SBThread thread = target_.GetProcess().GetThreadByID(handlers_.thread());
  return thread.IsValid() && handlers_.goes_on(thread.GetThreadID(), thread.GetFrameAtIndex(0).GetPC());
}

bool ManagedSteps::client_steps() {
  if (expected_of_ == 0) return false;
  lldb::SBThread thread = target_.GetProcess().GetThreadByID(expected_of_);
  return thread.IsValid() &&
         (ended_step(thread) != StepUnderWay::none || steps_under_way(thread).count > plans_.before);
}

// A thread comes to the places of plans, which have negative numbers, in a step alone.
void ManagedSteps::keep_given_up() {
  if (expected_of_ == 0) return;
  lldb::SBThread thread = target_.GetProcess().GetThreadByID(expected_of_);
  if (!thread.IsValid() || thread.GetStopReason() != lldb::eStopReasonBreakpoint ||
      thread.GetStopReasonDataCount() == 0 ||
      static_cast<lldb::break_id_t>(thread.GetStopReasonDataAtIndex(0)) > 0)
    return;
  // While they are still there: a step out of a lambda does not end in what the framework calls next.
  const StepsUnderWay steps = steps_under_way(thread, plans_.before);
  const StepUnderWay kind = steps.count > plans_.before ? steps.asked : steps.ended;
  begun(kind == StepUnderWay::over || kind == StepUnderWay::out ? kind : StepUnderWay::into);
}

} // namespace clr::lldb_plugin
