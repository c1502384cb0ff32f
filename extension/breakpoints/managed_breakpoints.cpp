#include "extension/breakpoints/managed_breakpoints.h"

#include "core/memory/error.h"
#include "extension/breakpoints/breakpoint_places.h"
#include "extension/breakpoints/compile_method.h"
#include "extension/breakpoints/hit_thread.h"
#include "extension/breakpoints/managed_faults.h"
#include "extension/breakpoints/managed_steps.h"
#include "extension/breakpoints/stop_verdict.h"
#include "extension/lldb/core_file.h"
#include "extension/lldb/fresh_frames.h"
#include "extension/lldb/native_modules.h"
#include "extension/lldb/notice.h"
#include "extension/lldb/stop_reasons.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace clr::lldb_plugin {

namespace {
CompileWatch::Code code_at(Session& session, Address address) {
  if (session.runtime().absence() != nullptr) return CompileWatch::Code::none;
  const CodeLookup found = session.runtime().code()->find(address);
  const auto* block = std::get_if<CodeBlock>(&found);
  if (block == nullptr || block->start != address) return CompileWatch::Code::none;
  return block->kind == CodeKind::jitted ? CompileWatch::Code::jitted : CompileWatch::Code::ready_to_run;
}
} // namespace

ManagedBreakpoints::ManagedBreakpoints(lldb::SBTarget target, StopSession& sessions,
                                       ProcessPublishing& publishing, const OwnEntries& entries,
                                       ManagedBreakpoints* before)
    : target_(target), sessions_(&sessions), publishing_(&publishing),
      breakpoints_(before != nullptr ? std::move(before->breakpoints_) : TargetBreakpoints(target)),
      throws_(target, sessions, entries.throw_stop, before != nullptr ? &before->throws_ : nullptr),
      conditions_(before != nullptr ? before->conditions_ : WrongConditions(target)), pages_(target),
      compile_places_(target, Hidden::passing, entries.compile_hook),
      // Of the same process a session that only drops what it has read of the code's whereabouts will do:
      // this happens for every method.
      notifications_(compile_places_,
                     {// Every exception of C++ goes through it.
                      .throw_place = [this] { return function_in(target_, "libstdc++", "__cxa_throw"); },
                      .write =
                          [this](Address address, std::span<const std::byte> bytes) {
                            lldb::SBError error;
                            target_.GetProcess().WriteMemory(address, bytes.data(), bytes.size(), error);
                            return error.Success();
                          }}),
      compilations_(
          compile_places_,
          {.compile_method = [this]() -> Address {
             if (!is_stopped_process(target_)) return 0;
             return find_compile_method(target_, *sessions_->after_short_run());
           },
           .code_at = [this](Address address) { return code_at(*sessions_->after_short_run(), address); },
           .told = [this] { return notifications_.tells() && !steps_->waits_for_code() && !looks_again_; },
           .unwanted =
               [this](CompileWatch::Visitor& visitor) {
                 if (!notifications_.knows_images() || steps_->waits_for_code()) return false;
                 const Address method = visitor.compiled_method();
                 return method != 0 &&
                        notifications_.is_unwanted(sessions_->after_short_run()->runtime(), method);
               }}),
      // Code that was compiled since the step began is not writable yet.
      steps_(std::make_unique<ManagedSteps>(
          target, sessions, publishing, entries.handler_stop,
          [this](Address at, lldb::SBThread thread) {
            make_writable({{at, at + 1}}, std::move(thread));
          },
          [this](Session& session, Address at, lldb::SBThread thread) {
            if (publishing_->begun() && !publishing_->holds(at)) show_code(session, at, thread);
          })),
      lone_run_(target) {
  if (before == nullptr || !before->compilations_.armed()) return;
  try {
    arm(); // the process before was watched when it was started anew
  } catch (const Error&) {
    // Its next stop arms it.
  }
}

ManagedBreakpoints::~ManagedBreakpoints() = default;

bool ManagedBreakpoints::stops_in_handler(lldb::SBThread& thread) {
  const bool waited = steps_->waits_for_code();
  const bool ends = steps_->stops(thread);
  if (steps_->waits_for_code())
    compilations_.arm();
  else if (waited && !ends)
    watch_again();
  return ends;
}

// A step wants to hear of compilations no more; breakpoints may.
void ManagedBreakpoints::watch_again() {
  breakpoints_.wishes().empty() ? compilations_.disarm() : compilations_.arm();
}

// LLDB has detached, or its user did not want to quit.
void ManagedBreakpoints::switch_on_again() {
  if (!off_.empty() && is_stopped_process(target_))
    make_writable(code_heaps(*sessions_->after_short_run()), target_.GetProcess().GetSelectedThread());
  for (lldb::SBBreakpoint& breakpoint : std::exchange(off_, {})) breakpoint.SetEnabled(true);
}

void ManagedBreakpoints::retire() {
  switch_on_again();
  lone_run_.quit();
  compile_places_.remove_all();
  steps_->retire();
}

void ManagedBreakpoints::arm() {
  lldb::SBProcess process = target_.GetProcess();
  if (!publishing_->settings().on || is_core(process)) return;
  if (is_stopped_process(target_)) listen(*sessions_->after_short_run());
  compilations_.arm();
}

void ManagedBreakpoints::disarm() {
  compilations_.disarm();
  if (is_stopped_process(target_)) notifications_.disarm(sessions_->after_short_run()->runtime());
}

void ManagedBreakpoints::listen(Session& session) {
  const bool precompiled = notifications_.arm(session.runtime(), breakpoints_.wishes());
  const bool owed = std::exchange(asked_owed_, false) || precompiled;
  if (owed && breakpoints_.waiting() && publishing_->settings().r2r) publish_asked(session);
}

bool ManagedBreakpoints::is_managed(lldb::SBBreakpoint& breakpoint) {
  return breakpoints_.is_managed(breakpoint, wish_of(breakpoint), *publishing_);
}

void ManagedBreakpoints::plant_pending() {
  if (!is_stopped_process(target_)) return;
  std::vector<lldb::SBBreakpointLocation> waiting = breakpoints_.not_planted(*publishing_);
  if (waiting.empty()) return;
  std::vector<CodeSpan> spans;
  for (lldb::SBBreakpointLocation& location : waiting) {
    const Address at = location.GetLoadAddress();
    spans.push_back({at, at + 1});
  }
  if (!make_writable(spans, target_.GetProcess().GetSelectedThread())) return;
  for (lldb::SBBreakpointLocation& location : waiting) {
    location.SetEnabled(false);
    location.SetEnabled(true);
  }
}

void ManagedBreakpoints::drop_wrong_lines() {
  if (is_stopped_process(target_) && publishing_->begun())
    breakpoints_.drop_wrong_lines(*sessions_->after_short_run(), *publishing_);
}

void ManagedBreakpoints::refresh() {
  drop_wrong_lines();
  plant_pending();
  conditions_.foresee();
  breakpoints_.collect(*publishing_);
  prepare_lines();
  breakpoints_.wishes().empty() ? disarm() : arm();
}

void ManagedBreakpoints::add(lldb::SBBreakpoint& breakpoint) {
  breakpoints_.add_managed(breakpoint);
  refresh();
}

ManagedBreakpoints::HookState ManagedBreakpoints::hook_state() const {
  return {.armed = compilations_.armed(),
          .learned = compilations_.learned(),
          .told = notifications_.tells(),
          .compilations = compilations_.hits() + notifications_.hits(),
          .milliseconds = compile_milliseconds_};
}

bool ManagedBreakpoints::make_writable(const std::vector<CodeSpan>& spans, lldb::SBThread thread) {
  if (attaches_) return false;
  const CodePages::Outcome outcome = pages_.make_writable(spans, std::move(thread));
  // A client may have let the process go on meanwhile.
  const bool lasting = !outcome.problem.empty() && !outcome.passing && is_stopped_process(target_);
  if (lasting && !std::exchange(told_failure_, true))
    notice(target_.GetDebugger(),
           fmt::format("breakpoints and steps in jitted code are not possible: its pages are not writable "
                       "(W^X) and {}; {}",
                       outcome.problem, CodePages::advice));
  if (outcome.spans != 0 && !std::exchange(told_, true))
    notice(target_.GetDebugger(),
           "pages of jitted code were made writable for breakpoints, by a call of mprotect in the process "
           "(W^X is on)");
  return outcome.problem.empty();
}

bool ManagedBreakpoints::prepare_step() {
  if (!is_stopped_process(target_) || !publishing_->settings().on) return false;
  const std::shared_ptr<Session> session = sessions_->at_stop();
  if (session->runtime().absence() != nullptr) return false;
  lldb::SBThread thread = target_.GetProcess().GetSelectedThread();
  // Only a step that begins in managed code or ends in it writes there.
  constexpr std::uint32_t looked_at = 3;
  bool managed = false;
  for (std::uint32_t i = 0; i < looked_at && !managed; ++i) {
    lldb::SBFrame frame = thread.GetFrameAtIndex(i);
    if (!frame.IsValid()) break;
    managed = std::holds_alternative<CodeBlock>(session->runtime().code()->find(frame.GetPC()));
  }
  if (!managed) return false;
  publishing_->before_step(*session);
  make_writable(code_heaps(*session), thread);
  return true;
}

void ManagedBreakpoints::prepare_set(const BreakpointWish& wish) {
  const bool stopped = is_stopped_process(target_);
  std::vector<CodeSpan> places = places_of(target_, wish);
  if (stopped && wish.kind == BreakpointWish::Kind::pattern)
    places = jitted_code_of(*sessions_->after_short_run(), wish);
  std::vector<CodeSpan> spans = places;
  std::erase_if(spans, [this](const CodeSpan& place) { return !publishing_->holds(place.begin); });
  if (!spans.empty() && stopped) {
    // What is missing may be anywhere.
    if (places.size() >= max_places) spans = code_heaps(*sessions_->after_short_run());
    make_writable(spans, target_.GetProcess().GetSelectedThread());
  }
  const bool native = wish.kind == BreakpointWish::Kind::address || (!places.empty() && spans.empty()) ||
                      (wish.kind == BreakpointWish::Kind::line && is_native_source(wish.file));
  if (native) return;
  breakpoints_.collect(*publishing_);
  breakpoints_.expect(wish, places.empty());
  prepare_lines();
  arm();
}

void ManagedBreakpoints::before_command(const char** words) {
  std::vector<std::string_view> all;
  for (; words != nullptr && *words != nullptr; ++words) all.emplace_back(*words);
  if (all.size() < 2) return;
  switch_on_again();
  if (is_stopped_process(target_) && steps_->ended_here()) at_stop(false);
  select_shown(all[1] == "select");
  const bool of_process = all[0] == "process", of_thread = all[0] == "thread";
  const bool steps = of_thread && (all[1].starts_with("step-") || all[1] == "until");
  const bool runs = steps || (of_thread && all[1] == "continue") ||
                    (of_process && (all[1] == "continue" || all[1] == "launch" || all[1] == "attach"));
  if (runs) {
    conditions_.forget_changed();
    conditions_.foresee();
  }
  if (runs) steps_->disarm(); // what the step before left
  if (of_process && all[1] == "detach") leave_process();
  if (all[0] == "breakpoint" && all[1] == "list") drop_wrong_lines(); // of what was published for it
  if (all[0] == "breakpoint" && all[1] == "set") prepare_set(wish_of_arguments(std::span(all).subspan(2)));
  if (!runs) return;
  refresh();
  if (!steps || !prepare_step()) return;
  lone_run_.watch();
  lldb::SBThread thread = target_.GetProcess().GetSelectedThread();
  if (all[1] == "step-out") return steps_->begin(thread, ManagedSteps::Kind::out);
  if (all[1] != "step-in" && all[1] != "step-over") return;
  steps_->begin(thread, all[1] == "step-in" ? ManagedSteps::Kind::into : ManagedSteps::Kind::over);
  if (steps_->waits_for_code()) compilations_.arm();
}

// The process goes on without a debugger: it need not tell of anything, and its pages are as they were. What
// LLDB would write to them while it detaches, the user's breakpoints, is off until the process is gone.
void ManagedBreakpoints::leave_process() {
  disarm();
  if (!is_stopped_process(target_) || !pages_.changed()) return;
  retire();
  for (std::uint32_t i = 0; i < target_.GetNumBreakpoints(); ++i) {
    lldb::SBBreakpoint breakpoint = target_.GetBreakpointAtIndex(i);
    if (!breakpoint.IsEnabled()) continue;
    breakpoint.SetEnabled(false);
    off_.push_back(breakpoint);
  }
  pages_.restore(target_.GetProcess().GetSelectedThread());
}

// A command that waited for the end of its step selects the thread that the step began with. That happens
// behind the stop, and commands of the plugin's own may come before; `chooses`: the user selects one.
void ManagedBreakpoints::select_shown(bool chooses) {
  if (shown_.thread == 0 || !is_stopped_process(target_)) return;
  lldb::SBProcess process = target_.GetProcess();
  const bool unmoved = process.GetStopID() == shown_.stop;
  const bool restored = process.GetSelectedThread().GetThreadID() == shown_.began;
  if (unmoved && restored && !chooses) process.SetSelectedThreadByID(shown_.thread);
  if (!unmoved || restored || chooses) shown_ = {};
}

bool ManagedBreakpoints::at_stop(bool client) {
  if (!is_stopped_process(target_)) return false;
  lldb::SBProcess process = target_.GetProcess();
  // LLDB calls for each thread with a reason. What the first call judged by may be gone since.
  if (process.GetStopID() == stop_told_) return false;
  // The process may go on from here, with what was published at this stop.
  drop_wrong_lines();
  StepsOfPlugin known = steps_->for_stops();
  // Other threads come to places of its plan, too, also when nobody else has heard of the step.
  known.under_way = known.under_way || steps_->client_steps();
  known.one_shots = breakpoints_.one_shots();
  std::vector<ThreadStop> stops = thread_stops(target_, known);
  steps_->take_middle(stops);
  steps_->add_end(stops);
  pass_wrong_conditions(stops);
  for (const std::uint64_t alone : lone_run_.take(stops)) steps_->goes_on_with_others(alone);
  if (lone_run_.goes_on(stops)) return true;
  const auto is_ours = [this](Address pc) { return was_ours(pc); };
  if (nobody_asked(stops, is_ours) || signals_go_on(stops) ||
      ((client ? client_looks() : looks_while_running()) && asked_while_running(stops, is_ours))) {
    steps_->keep_given_up();
    return true;
  }
  if (steps_->go_on(stops)) return true;
  pass_faults(stops);
  lldb::SBThread selected = process.GetSelectedThread();
  if (const std::uint64_t shown = thread_to_show(stops); shown != 0 && shown != selected.GetThreadID())
    process.SetSelectedThreadByID(shown);
  const std::uint64_t began = steps_->begun_by(), shows = process.GetSelectedThread().GetThreadID();
  if (began != 0 && began != shows) shown_ = {shows, began, process.GetStopID()};
  compilations_.tidy();
  lone_run_.rest();
  steps_->end();
  refresh();
  stop_told_ = process.GetStopID();
  throws_.at_stop();
  return false;
}

bool ManagedBreakpoints::was_ours(Address pc) const {
  return compilations_.was_at(pc) || notifications_.is_at(pc);
}

void ManagedBreakpoints::pass_wrong_conditions(std::span<ThreadStop> stops) {
  conditions_.forget_changed();
  for (ThreadStop& stop : stops) {
    if (stop.kind != ThreadStop::Kind::asked || !stop.at_breakpoint) continue;
    lldb::SBThread thread = target_.GetProcess().GetThreadByID(stop.thread);
    if (conditions_.pass(*sessions_, thread)) stop.kind = ThreadStop::Kind::passing;
  }
}

// Another thread has a reason: it is the one to show.
void ManagedBreakpoints::pass_faults(std::span<ThreadStop> stops) {
  for (ThreadStop& stop : stops) {
    if (stop.kind != ThreadStop::Kind::asked || !stop.at_signal) continue;
    lldb::SBThread thread = target_.GetProcess().GetThreadByID(stop.thread);
    if (exception_of_signal(*sessions_->at_stop(), thread)) stop.kind = ThreadStop::Kind::passing;
  }
}

// Signals that are no stop to the user, of several threads in the same moment, too.
bool ManagedBreakpoints::signals_go_on(std::span<const ThreadStop> stops) {
  const std::vector<std::uint64_t> threads =
      signals_alone(stops, [this](Address pc) { return was_ours(pc); });
  std::vector<std::string> exceptions;
  for (const std::uint64_t id : threads) {
    lldb::SBThread thread = target_.GetProcess().GetThreadByID(id);
    auto exception = exception_of_signal(*sessions_->at_stop(), thread);
    if (!exception) return false;
    exceptions.push_back(std::move(*exception));
  }
  for (const std::string& exception : exceptions)
    notice(target_.GetDebugger(),
           fmt::format("the signal in managed code becomes a {}; the process goes on", exception));
  return !exceptions.empty();
}

void ManagedBreakpoints::at_compilation(lldb::SBThread& thread) {
  const bool waited = steps_->waits_for_code();
  if (looks_again_ && !look_again()) return;
  HitThread visitor(thread);
  if (notifications_.is_at(visitor.pc())) {
    const std::shared_ptr<Session> session = sessions_->after_short_run();
    const std::optional<Address> ready = notifications_.hit(session->runtime());
    if (ready) at_compiled(thread, *ready);
    // It was heard, or cannot tell any more.
    compilations_.arm();
  } else {
    // What is wanted of modules that were loaded since is known before that is judged which is compiled.
    if (compilations_.armed() && !notifications_.tells()) listen(*sessions_->after_short_run());
    const std::optional<Address> start = compilations_.hit(visitor);
    if (start) at_compiled(thread, *start);
  }
  steps_->let_unwind(thread);
  if (waited && !steps_->waits_for_code()) watch_again();
}

} // namespace clr::lldb_plugin
