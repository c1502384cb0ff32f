#include "extension/breakpoints/managed_steps.h"

#include "core/describe/called_methods.h"
#include "core/describe/exception_handlers.h"
#include "core/memory/error.h"
#include "extension/lldb/frame_line.h"
#include "extension/lldb/thread_plans.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

namespace clr::lldb_plugin {

namespace {
// The first caller of frame 0 that has lines, where its next one has none; else no frame.
lldb::SBFrame caller_behind_code_without_lines(lldb::SBThread& thread) {
  for (std::uint32_t i = 1; i < HandlerFrames::max_frames; ++i) {
    lldb::SBFrame frame = thread.GetFrameAtIndex(i);
    if (!frame.IsValid()) break;
    if (has_line(frame)) return i == 1 ? lldb::SBFrame() : frame;
  }
  return {};
}

class CallVisitor final : public CallWatch::Visitor {
public:
  explicit CallVisitor(lldb::SBThread& thread) : thread_(&thread) {}

  std::uint64_t thread() override { return thread_->GetThreadID(); }
  Address pc() override { return thread_->GetFrameAtIndex(0).GetPC(); }
  bool is_called_by(Address cfa) override {
    std::uint32_t caller = 1;
    for (;; ++caller) {
      lldb::SBFrame frame = thread_->GetFrameAtIndex(caller);
      if (caller >= HandlerFrames::max_frames || !frame.IsValid() || frame.GetCFA() > cfa) return false;
      if (frame.GetCFA() == cfa) break;
    }
    lldb::SBFrame found = thread_->GetFrameAtIndex(caller);
    const Address own = frame_pointer(found);
    // The handlers of the caller's method have its frame pointer: the end of a `using` is one.
    for (std::uint32_t i = 1; i < caller; ++i) {
      lldb::SBFrame frame = thread_->GetFrameAtIndex(i);
      if (has_line(frame) && frame_pointer(frame) != own) return false;
    }
    return true;
  }
  std::vector<Address> lines(Address at) override {
    std::vector<Address> begins;
    for (const AwaitWatch::Line& line : lines_of(thread_->GetProcess().GetTarget(), at))
      if (line.line != 0 && begins.size() < AwaitWatch::max_lines) begins.push_back(line.begin);
    return begins;
  }

private:
  lldb::SBThread* thread_;
};
} // namespace

void ManagedSteps::begin(lldb::SBThread& thread, Kind kind) {
  plans_ = {.of = thread.GetThreadID(), .before = steps_under_way(thread).count};
  for_stops_.under_way = true;
  begun_by_ = thread.GetThreadID();
  stands_ = thread;
  settings_.switch_on(StepSettings::all_threads);
  follow_handlers(thread, kind);
  follow_awaits(thread, kind == Kind::out);
  go_out_of_code_without_lines(thread);
  watch_loader();
  if (kind != Kind::out) follow_calls(thread, kind);
}

// Somebody came to a place or compiled a method: false when no step is under way, of which the process need
// not be watched any more.
bool ManagedSteps::is_step() {
  if (expected_of_ == 0) return true;
  lldb::SBThread thread = target_.GetProcess().GetThreadByID(expected_of_);
  const StepsUnderWay steps = thread.IsValid() ? steps_under_way(thread, plans_.before) : StepsUnderWay{};
  // Those of before are broken off, and may go on when the client lets the process run.
  const StepUnderWay kind = steps.count > plans_.before ? steps.asked : steps.ended;
  if (kind == StepUnderWay::none || kind == StepUnderWay::other) {
    disarm();
    return false;
  }
  begun(kind);
  return true;
}

// The step that was made ready.
void ManagedSteps::begun(StepUnderWay kind) {
  for_stops_.under_way = true;
  begun_by_ = std::exchange(expected_of_, 0);
  if (kind == StepUnderWay::over) handlers_.steps_over();
  if (kind == StepUnderWay::out) {
    awaits_.ends_behind_method();
    handlers_.steps_out();
    stood_.out = true;
  }
  if (kind == StepUnderWay::over && calls_part_)
    calls_.steps_over();
  else if (kind != StepUnderWay::into)
    calls_.disarm();
}

void ManagedSteps::follow_exceptions(lldb::SBThread thread) {
  following_ = true;
  plans_ = {.of = thread.GetThreadID(), .before = steps_under_way(thread).count};
  stands_ = thread;
  follow_handlers(std::move(thread), Kind::into);
}

void ManagedSteps::end_following() {
  following_ = false;
  handlers_.end_step();
}

void ManagedSteps::follow_handlers(lldb::SBThread thread, Kind kind) {
  const bool out = kind == Kind::out;
  handlers_.disarm();
  stood_ = {};
  try {
    const std::shared_ptr<Session> session = sessions_->after_short_run();
    Runtime& runtime = session->runtime();
    // Funclets are told from their parents by rbp, and places of resumption by the x64 code that names them.
    if (runtime.absence() != nullptr || runtime.platform().cpu != Cpu::x64) return;
    if (handlers_.full()) {
      handlers_.forget();
      handler_frames_.forget();
    }
    const std::vector<HandlerWatch::Frame> frames = handler_frames_.of(*session, thread);
    std::vector<ResumePlace> resumes;
    if (frames.size() >= 2 && frames[0].funclet) resumes = HandlerFrames::resumes(*session, frames[0].pc);
    const std::vector<Address> behind =
        resumes.empty() ? std::vector<Address>{} : places_behind_handler(*session, frames[0].pc, resumes);
    handlers_.arm(thread.GetThreadID(), frames, out, behind);
    if (kind != Kind::into) handlers_.steps_over();
    if (!frames.empty() && frames[0].handlers != nullptr) {
      stood_.frame = frames[0];
      stood_.cfa = thread.GetFrameAtIndex(0).GetCFA();
      stood_.line = thread.GetFrameAtIndex(0).GetLineEntry().GetLine();
      stood_.out = out;
      auto method = frames.begin();
      // Between a handler and its method are those that an exception has left.
      if (frames[0].funclet)
        method = std::find_if(frames.begin() + 1, frames.end(), [&](const HandlerWatch::Frame& frame) {
          return frame.rbp == frames[0].rbp && !frame.funclet && frame.handlers != nullptr;
        });
      if (method != frames.end())
        if (const auto caller =
                std::find_if(method + 1, frames.end(), [](const auto& f) { return f.has_line; });
            caller != frames.end())
          stood_.caller = *caller;
    }
    // LLDB drops the step of a client in the runtime, which is behind the handler. Here it tells of it still.
    for (const ResumePlace& resume : resumes) look_at(resume.left);
  } catch (const Error&) {
    // The step goes as LLDB's own do.
  }
}

// Behind the handler that a frame stands in. An async method comes to code of the compiler's there, and from
// that to any line of the same function: handlers are functions of their own, behind that of the method.
std::vector<Address> ManagedSteps::places_behind_handler(Session& session, Address handler,
                                                         std::span<const ResumePlace> resumes) {
  ExecutionManager& code = *session.runtime().code();
  const CodeLookup found = code.find(handler);
  const std::vector<Address> handlers = handler_entries(code, std::get<CodeBlock>(found));
  std::vector<Address> places;
  for (const ResumePlace& resume : resumes) {
    const auto behind = std::ranges::upper_bound(handlers, resume.begins);
    const Address begin = behind == handlers.begin() ? 0 : *std::prev(behind);
    // Optimised code may go on in the middle of what a line that is long over was made into.
    for (const Address line :
         begins_line(resume.begins) ? std::vector<Address>{resume.begins} : all_lines(resume.begins))
      if (line == resume.begins || (line >= begin && (behind == handlers.end() || line < *behind)))
        places.push_back(line);
  }
  return places;
}

void ManagedSteps::follow_awaits(lldb::SBThread& thread, bool out) {
  auto step = await_frames_.step_of(thread, out);
  if (!step) return;
  awaits_.arm(std::move(*step));
  // Between an async method and its caller stand the builder and the method that starts it. At a stop there
  // LLDB's plan could not be told to go on.
  settings_.switch_on(StepSettings::avoid_no_lines);
}

// The end of a lambda that the framework calls, or of a method that the compiler has made a caller of.
void ManagedSteps::go_out_of_code_without_lines(lldb::SBThread& thread) {
  lldb::SBFrame frame = thread.GetFrameAtIndex(0);
  if (has_line(frame)) settings_.switch_on(StepSettings::avoid_no_lines);
}

bool ManagedSteps::begins_line(Address at) {
  lldb::SBLineEntry line = target_.ResolveLoadAddress(at).GetLineEntry();
  return line.GetLine() != 0 && line.GetStartAddress().GetLoadAddress(target_) == at;
}

std::vector<Address> ManagedSteps::next_lines(Address at) {
  if (target_.ResolveLoadAddress(at).GetLineEntry().GetLine() != 0) return {at};
  return all_lines(at);
}

std::vector<Address> ManagedSteps::all_lines(Address at) {
  std::vector<Address> places;
  for (const AwaitWatch::Line& line : lines_of(target_, at))
    if (line.line != 0 && places.size() < AwaitWatch::max_lines) places.push_back(line.begin);
  return places;
}

void ManagedSteps::follow_calls(lldb::SBThread& thread, Kind kind) {
  try {
    const std::shared_ptr<Session> session = sessions_->after_short_run();
    Runtime& runtime = session->runtime();
    if (runtime.absence() != nullptr) return;
    lldb::SBFrame frame = thread.GetFrameAtIndex(0);
    const CodeLookup found = runtime.code()->find(frame.GetPC());
    const auto* const block = std::get_if<CodeBlock>(&found);
    if (block == nullptr) return;
    std::set<std::string> names = called_names(runtime, *block);
    calls_part_ = std::ranges::any_of(names, is_part_of_iterator);
    std::vector<Address> callers{frame.GetCFA()};
    if (kind == Kind::over) {
      std::erase_if(names, [](const std::string& name) { return !is_part_of_iterator(name); });
    } else if (lldb::SBFrame outer = caller_behind_code_without_lines(thread); outer.IsValid()) {
      // Where an async method goes on is not where its caller does.
      const CodeLookup calls = runtime.code()->find(outer.GetPC() - 1);
      const auto* const caller = std::get_if<CodeBlock>(&calls);
      if (caller != nullptr && awaits_.thread() == 0) {
        names.merge(called_names(runtime, *caller));
        callers.push_back(outer.GetCFA());
      }
    }
    if (names.empty()) return;
    arm_calls(*session, thread, names, std::move(callers));
    if (kind == Kind::over) calls_.steps_over();
    called_ = std::move(names);
  } catch (const Error&) {
    // The step goes as LLDB's own do.
  }
}

void ManagedSteps::arm_calls(Session& session, lldb::SBThread& thread, const std::set<std::string>& names,
                             std::vector<Address> callers) {
  std::vector<CallWatch::Place> places;
  for (const Address start : called_bodies(session.runtime(), names))
    places.push_back(entry_of(session, start));
  calls_.arm(thread.GetThreadID(), std::move(callers), places);
}

// An async method goes on, perhaps on another thread, in the middle of the line of the step.
void ManagedSteps::follow_calls_again(lldb::SBThread& thread) {
  if (calls_.thread() == 0) return;
  const bool over = calls_.is_over();
  try {
    arm_calls(*sessions_->after_short_run(), thread, called_, {thread.GetFrameAtIndex(0).GetCFA()});
    if (over) calls_.steps_over();
  } catch (const Error&) {
    // The step goes as LLDB's own do.
  }
}

// Where a step enters the body that starts at `start`, which LLDB is told of: behind its prologue, or where
// it left. No place: a step does not enter it.
CallWatch::Place ManagedSteps::entry_of(Session& session, Address start) {
  Runtime& runtime = session.runtime();
  const CodeLookup found = runtime.code()->find(start);
  const auto* const block = std::get_if<CodeBlock>(&found);
  if (block == nullptr) return {};
  const Method method = runtime.describe(*block).method;
  lldb::SBDebugger debugger = target_.GetDebugger();
  if (!has_written_lines(runtime, method) ||
      (steps_over_properties(debugger) && is_property_or_operator(method.name)))
    return {};
  show_(session, start, stands_);
  if (is_state_machine(runtime, method)) return {.at = start, .any_line = true, .part = false};
  lldb::SBFunction function = target_.ResolveLoadAddress(start).GetFunction();
  if (!function.IsValid()) return {};
  const Address place = start + function.GetPrologueByteSize();
  if (target_.ResolveLoadAddress(place).GetLineEntry().GetLine() == 0) return {};
  return {.at = place, .any_line = false, .part = is_part_of_iterator(method.name)};
}

// A thread that LLDB did not let go on yet, since another one had to go first, may tell of its stop again.
bool ManagedSteps::tells_again(std::uint64_t thread, lldb::SBFrame& frame) {
  if (thread != before_.thread) return false;
  const std::uint32_t stop = target_.GetProcess().GetStopID();
  // There may be several places at one address.
  if (frame.GetPC() == before_.pc && frame.GetSP() == before_.sp && frame_pointer(frame) == before_.fp &&
      (before_.told == 0 || before_.told == stop)) {
    before_.told = stop;
    return true;
  }
  before_ = {};
  return false;
}

bool ManagedSteps::stops(lldb::SBThread& thread) {
  lldb::SBFrame frame = thread.GetFrameAtIndex(0);
  if (!is_step()) return false;
  stands_ = thread;
  if (tells_again(thread.GetThreadID(), frame)) return false;
  AwaitVisitor visitor(
      thread,
      [&](bool on) {
        if (!on) return handlers_.end_step();
        follow_handlers(thread, awaits_.ends_outside() ? Kind::out : Kind::into);
        follow_calls_again(thread);
      },
      [&](lldb::SBThread& left) { end_plan(left); });
  const bool waited = awaits_.waiting() != nullptr;
  const bool ends = awaits_.hit(visitor);
  if (const AwaitWatch::Body* const waiting = awaits_.waiting(); waited != (waiting != nullptr))
    waits_for_code_ = waiting != nullptr && await_frames_.is_replaceable(*waiting);
  // The last: LLDB's step into a function, a handler that the method calls itself for example, ends where a
  // place is at which this one does not.
  if (!ends && !enters_call(thread) &&
      !handlers_.hit(thread.GetThreadID(), frame.GetPC(), frame_pointer(frame)) &&
      (thread.GetThreadID() != plans_.of || !stops_without_reason(thread))) {
    for_stops_.passed.insert(thread.GetThreadID());
    // Another thread steps.
    if (awaits_.thread() == 0 || awaits_.thread() == thread.GetThreadID()) let_unwind(thread);
    return false;
  }
  end_plan(thread); // what LLDB had to do for the step is not to be gone on with at the next one
  ended_ = {.thread = thread.GetThreadID(),
            .pc = frame.GetPC(),
            .sp = frame.GetSP(),
            .fp = frame_pointer(frame),
            .stop = target_.GetProcess().GetStopID()};
  for_stops_.passed.erase(ended_.thread);
  return true;
}

bool ManagedSteps::enters_call(lldb::SBThread& thread) {
  if (calls_.thread() != thread.GetThreadID()) return false;
  let_unwind(thread);
  CallVisitor visitor(thread);
  return calls_.hit(visitor);
}

bool ManagedSteps::is_called(Address start) {
  Runtime& runtime = sessions_->after_short_run()->runtime();
  const CodeLookup found = runtime.code()->find(start);
  const auto* const block = std::get_if<CodeBlock>(&found);
  return block != nullptr && may_be_called(runtime, called_, runtime.describe(*block).method);
}

void ManagedSteps::compiled(lldb::SBThread& thread, Address start) {
  if (!waits_for_code() || !is_step()) return;
  // Of what other threads compile meanwhile (the runtime does by itself, for methods that are called often)
  // the step's thread may enter what its line calls.
  if (calls_.thread() == thread.GetThreadID() || (calls_.thread() != 0 && is_called(start))) {
    stands_ = thread;
    calls_.add(entry_of(*sessions_->after_short_run(), start));
  }
  const AwaitWatch::Body* const waiting = awaits_.waiting();
  if (waiting == nullptr) return;
  stands_ = thread;
  if (auto body = await_frames_.another_body(start, *waiting)) awaits_.add(std::move(*body));
}

void ManagedSteps::end() {
  if (!following_) handlers_.end_step();
  settings_.restore();
  // A thread of the pool comes to no caller: LLDB would keep the plan of its step for ever.
  if (awaits_.leaves_nowhere())
    if (lldb::SBThread thread = target_.GetProcess().GetThreadByID(awaits_.thread()); thread.IsValid())
      end_plan(thread);
  awaits_.end_step();
  calls_.end_step();
  waits_for_code_ = false;
  for_stops_.under_way = false;
}

void ManagedSteps::disarm() {
  begun_by_ = 0;
  expected_of_ = 0;
  for_stops_.under_way = false;
  before_ = std::exchange(ended_, {});
  if (before_.thread != 0) for_stops_.passed.insert(before_.thread);
  handlers_.disarm();
  awaits_.disarm();
  calls_.disarm();
  for (const auto& [place, number] : looks_) passing_.enable(number, false);
  waits_for_code_ = false;
  settings_.restore();
}

} // namespace clr::lldb_plugin
