// Steps in managed code beyond what LLDB's own plans see: into exception handlers, behind awaits, into
// methods that are compiled by the call or started by a builder.
#pragma once

#include "extension/breakpoints/await_frames.h"
#include "extension/breakpoints/call_watch.h"
#include "extension/breakpoints/handler_frames.h"
#include "extension/breakpoints/handler_watch.h"
#include "extension/breakpoints/hijacked_returns.h"
#include "extension/breakpoints/own_breakpoints.h"
#include "extension/lldb/plan_list.h"
#include "extension/lldb/step_settings.h"
#include "extension/lldb/stop_reasons.h"
#include "extension/publish/process_publishing.h"
#include "extension/session/stop_session.h"

#include <lldb/API/LLDB.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>

namespace clr::lldb_plugin {

class ManagedSteps {
public:
  // A breakpoint is to be written at an address, while this thread stands.
  using MakeWritable = std::function<void(Address, lldb::SBThread)>;
  // The debugger is told of the code that holds an address, while this thread stands.
  using ShowCode = std::function<void(Session&, Address, lldb::SBThread)>;

  // Sessions and publishing are of the target's process, and must outlive this. `hit` is called when a thread
  // comes to a place of a step.
  ManagedSteps(lldb::SBTarget target, StopSession& sessions, ProcessPublishing& publishing, HitEntry hit,
               MakeWritable make_writable, ShowCode show)
      : target_(target), sessions_(&sessions), publishing_(&publishing),
        make_writable_(std::move(make_writable)), show_(std::move(show)),
        places_(target, Hidden::asked, hit, [this](Address at) { make_writable_(at, stands_); }),
        passing_(target, Hidden::passing, hit, [this](Address at) { make_writable_(at, stands_); }),
        handlers_(
            places_, [this](Address at) { return next_lines(at); },
            [this](Address handler) { return lines_behind(handler); }),
        calls_(places_), await_frames_(target, sessions,
                                       [this](Session& session, Address at) { show_(session, at, stands_); }),
        awaits_(passing_, places_, await_frames_), settings_(target) {}

  enum class Kind : std::uint8_t { over, into, out };
  // A command begins a step of `thread`. Code heaps are writable.
  void begin(lldb::SBThread& thread, Kind kind);
  // At a stop: a client of the debugger's API may step `thread` next, and nobody tells when it does. What a
  // step would need is made ready; the first place that is come to shows whether there is one. Code heaps are
  // writable.
  void expect(lldb::SBThread& thread);
  // Steps of `thread` stop in handlers of exceptions until end_following(), also behind stops.
  void follow_exceptions(lldb::SBThread thread);
  void end_following();

  // A thread came to a place: true when its step ends there.
  bool stops(lldb::SBThread& thread);
  // A step waits for a method that the runtime may compile anew, or for one that a call may have compiled: it
  // wants to hear of that.
  bool waits_for_code() const { return waits_for_code_ || calls_.thread() != 0; }
  // The code that starts at `start` is ready; `thread` has compiled it.
  void compiled(lldb::SBThread& thread, Address start);
  // Before `thread` goes on from a place of the plugin's: the plan of its step walks the stack then.
  void let_unwind(lldb::SBThread& thread);
  // `thread` ran alone with its step, and waited for others: all run from now on.
  void goes_on_with_others(std::uint64_t thread);
  // At a stop: takes the reason of the thread out of `stops` whose step is still under way. Of what a step
  // has done on its way, for example that it came out of a frame without lines, LLDB tells as of its end when
  // another thread stops in the same moment. When the debugger has interrupted the process in that moment, it
  // tells of nothing: the breakpoint that the thread came to is removed by then, and stands in `stops` as one
  // at which it goes on.
  void take_middle(std::span<ThreadStop> stops);
  // At a stop: a thread's step has ended at a place. LLDB (15 and 16) tells of no reason where a part of its
  // own plan of the step has ended there, too, and calls no hook.
  bool ended_here();
  // Gives that thread a reason in `stops`.
  void add_end(std::span<ThreadStop> stops);
  // At a stop that is none to the user: a step of the debugger's has ended, but not that of the user's.
  bool go_on(std::span<const ThreadStop> stops);
  // At a stop: a client of the debugger's API steps, as its plans tell, or has stepped to here. Cost: a
  // command of LLDB's.
  bool client_steps();
  // At a stop that nobody asked for: the debugger may have given up its plan of the step, of which nothing
  // tells from now on.
  void keep_given_up();
  // At a stop.
  void end();
  // Before the process runs on.
  void disarm();

  // The thread that the last step began with; 0: the process ran on since without one.
  std::uint64_t begun_by() const { return begun_by_; }

  // The thread that may be in a step, also of a client that has not shown it yet; 0: none.
  std::uint64_t may_be_of() const { return begun_by_ != 0 ? begun_by_ : expected_of_; }

  // What stops are judged by: a step is under way from begin() to end(), and LLDB may tell of a stop at
  // its places that was none, or of that of a step before.
  const StepsOfPlugin& for_stops() const { return for_stops_; }

  // The process is another one or gone.
  void retire() {
    places_.remove_all();
    passing_.remove_all();
    hijacks_.forget();
    looks_.clear();
    loader_ = 0;
  }

private:
  bool is_step();
  void begun(StepUnderWay kind);
  void follow_handlers(lldb::SBThread thread, Kind kind);
  void follow_awaits(lldb::SBThread& thread, bool out);
  void follow_calls(lldb::SBThread& thread, Kind kind);
  void follow_calls_again(lldb::SBThread& thread);
  void arm_calls(Session& session, lldb::SBThread& thread, const std::set<std::string>& names,
                 std::vector<Address> callers);
  CallWatch::Place entry_of(Session& session, Address start);
  // The code that starts at `start` is of a method that the line of the step may call.
  bool is_called(Address start);
  void watch_loader();
  bool goes_on_behind_hijack();
  bool goes_on_in_iterator();
  bool goes_on_out_of_call();
  bool goes_on_to_lines();
  bool goes_on_after_failure();
  bool begins_line(Address at);
  std::vector<Address> next_lines(Address at);
  // Where lines begin in the function that has code at `at`.
  std::vector<Address> all_lines(Address at);
  void look_at(Address place);
  void end_plan(lldb::SBThread& thread);
  bool go_by_places(lldb::SBThread& thread);
  void go_out_of_code_without_lines(lldb::SBThread& thread);
  std::vector<Address> lines_behind(Address handler);
  std::vector<Address> places_behind_handler(Session& session, Address handler,
                                             std::span<const ResumePlace> resumes);
  bool enters_call(lldb::SBThread& thread);
  bool tells_again(std::uint64_t thread, lldb::SBFrame& frame);

  lldb::SBTarget target_;
  StopSession* sessions_;
  ProcessPublishing* publishing_;
  MakeWritable make_writable_;
  ShowCode show_;
  lldb::SBThread stands_;  // that is being looked at
  OwnBreakpoints places_;  // where steps may end
  OwnBreakpoints passing_; // where they never do
  HandlerWatch handlers_;
  HandlerFrames handler_frames_;
  CallWatch calls_;
  std::set<std::string> called_; // by the line of the step
  bool calls_part_ = false;      // the line of the step calls a part of its method
  HijackedReturns hijacks_;
  AwaitFrames await_frames_;
  AwaitWatch awaits_;
  // A thread whose step ended at a place.
  struct Ended {
    std::uint64_t thread = 0; // 0: none
    // The runtime calls the handlers of several frames of a method with one stack pointer.
    Address pc = 0, sp = 0, fp = 0;
    std::uint32_t stop = 0; // LLDB's number of the stop
    std::uint32_t told = 0; // the stop at which LLDB told of it again; 0: none
  };
  Ended ended_, before_;         // at this stop; at the one before, until the thread stops again
  Address loader_ = 0;           // where the dynamic loader tells of libraries; 0: not known yet
  std::map<Address, int> looks_; // places of look_at()
  static constexpr std::size_t max_looks = 256;
  // The debugger's plans for the thread that steps, when the step began: one of them for each step that a
  // stop has broken off, and that is not to be ended.
  struct Plans {
    std::uint64_t of = 0;
    std::size_t before = 0;
  } plans_;
  // The frame that the step began in, and its next caller that has lines.
  struct Stood {
    HandlerWatch::Frame frame, caller; // pc 0: none
    Address cfa = 0;
    std::uint32_t line = 0;
    bool out = false; // a step out of it
  } stood_;
  StepsOfPlugin for_stops_;
  StepSettings settings_;
  std::uint64_t begun_by_ = 0;
  std::uint64_t expected_of_ = 0; // the thread of expect(), until it shows whether it steps; 0: none
  std::uint32_t expected_at_ = 0; // the stop of the last expect()
  bool following_ = false;        // end_following() comes
  bool waits_for_code_ = false;   // see there
};

} // namespace clr::lldb_plugin
