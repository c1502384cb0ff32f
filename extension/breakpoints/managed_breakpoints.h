// Breakpoints and steps of LLDB's in the managed code of one process: methods that are compiled later, pages
// that can be written to, signals that are no crashes.
#pragma once

#include "extension/breakpoints/breakpoint_wish.h"
#include "extension/breakpoints/code_pages.h"
#include "extension/breakpoints/compile_watch.h"
#include "extension/breakpoints/managed_throws.h"
#include "extension/breakpoints/notification_watch.h"
#include "extension/breakpoints/own_breakpoints.h"
#include "extension/breakpoints/target_breakpoints.h"
#include "extension/breakpoints/wrong_conditions.h"
#include "extension/lldb/lone_run.h"
#include "extension/lldb/thread_stop.h"
#include "extension/publish/process_publishing.h"
#include "extension/session/stop_session.h"

#include <lldb/API/LLDB.h>

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace clr::lldb_plugin {

// The functions that hits of the plugin's own breakpoints call.
struct OwnEntries {
  HitEntry compile_hook, handler_stop, throw_stop;
};

class ManagedSteps;

class ManagedBreakpoints {
public:
  // Sessions and publishing are of the same process, and must outlive this. `before`: of the target's process
  // before; null: there was none.
  ManagedBreakpoints(lldb::SBTarget target, StopSession& sessions, ProcessPublishing& publishing,
                     const OwnEntries& entries, ManagedBreakpoints* before);
  ~ManagedBreakpoints();

  // While one of these lives nothing is run in the process: LLDB attaches, and would wait for itself.
  class Attaching {
  public:
    explicit Attaching(ManagedBreakpoints& breakpoints) : now_(breakpoints.attaches_) { now_ = true; }
    Attaching(const Attaching&) = delete;
    Attaching& operator=(const Attaching&) = delete;
    ~Attaching() { now_ = false; }

  private:
    bool& now_;
  };

  // Before LLDB runs one of its commands; `words` as of CommandVisit.
  void before_command(const char** words);
  // At a stop, after it was published; `client`: of a program that uses LLDB's API. True when there is no
  // reason to stop.
  bool at_stop(bool client);
  // A thread came to a place where the runtime may have compiled a method.
  void at_compilation(lldb::SBThread& thread);
  // A thread came to an exception handler, or to another place of a step: true when its step ends there.
  bool stops_in_handler(lldb::SBThread& thread);
  // LLDB is about to detach from the process, unless its user says no: then the next of its commands goes on
  // as before.
  void leave_process();
  // The process is another one or gone, or the target is.
  void retire();

  // Before LLDB sets a breakpoint: what it will write to becomes writable.
  void prepare_set(const BreakpointWish& wish);
  // A breakpoint on managed code, whatever LLDB can tell of it: new code is published when it is compiled, as
  // long as the breakpoint is there.
  void add(lldb::SBBreakpoint& breakpoint);
  bool is_managed(lldb::SBBreakpoint& breakpoint);
  // TargetBreakpoints::asked.
  std::optional<AskedCode> asked_code() { return breakpoints_.asked(*publishing_); }
  // Symbols of the process are looked for elsewhere now.
  void symbols_changed() { notifications_.forget(); }
  // Plants what could not be planted, and stops at compilations if there is a managed breakpoint.
  void refresh();
  // Makes what a step touches writable: all jitted code. True when the step begins in managed code or may end
  // there.
  bool prepare_step();
  // At a stop, behind at_stop(): a client of the API may step next.
  void expect_step();
  // Likewise: it may set breakpoints. Jitted code becomes writable. The first method that is compiled after
  // the stop lets the plugin look for them; that costs one stop of the process, which nobody sees.
  void expect_breakpoints();

  struct HookState {
    bool armed = false, learned = false;
    bool told = false; // the runtime tells of what is wanted; else each compilation stops
    std::size_t compilations = 0;
    double milliseconds = 0; // spent on them here; LLDB's own part is not in it
  };
  HookState hook_state() const;
  // What breakpoints mean of precompiled code is published.
  bool images_known() const { return notifications_.knows_images(); }

  // WrongConditions::describe_types_with.
  void describe_types_with(DescribeTypes describe) { conditions_.describe_types_with(std::move(describe)); }

  ManagedSteps& steps() { return *steps_; }
  ManagedThrows& throws() { return throws_; }

private:
  void select_shown(bool chooses);
  void switch_on_again();
  void arm();
  void disarm();
  void watch_again();
  bool look_again();
  void listen(Session& session);
  void plant_pending();
  // For a line of a lambda that is not compiled LLDB plants a breakpoint at the next line of the method
  // around it, whenever it learns of that: what it cannot write to then it warns of.
  void prepare_lines();
  void drop_wrong_lines();
  bool client_looks() const;
  bool was_ours(Address pc) const;
  bool signals_go_on(std::span<const ThreadStop> stops);
  void pass_wrong_conditions(std::span<ThreadStop> stops);
  void pass_faults(std::span<ThreadStop> stops);
  // False when some are not writable.
  bool make_writable(const std::vector<CodeSpan>& spans, lldb::SBThread thread);
  void at_compiled(lldb::SBThread& thread, Address start);
  void publish_compiled(Session& session, lldb::SBThread& thread, Address start);
  // LLDB is told of the body that holds `at`.
  void show_code(Session& session, Address at, lldb::SBThread& thread);
  void publish_new_images(Session& session);
  // LLDB is told of the code that breakpoints may mean, precompiled code too.
  void publish_asked(Session& session);

  lldb::SBTarget target_;
  StopSession* sessions_;
  ProcessPublishing* publishing_;
  TargetBreakpoints breakpoints_;
  ManagedThrows throws_;
  WrongConditions conditions_;
  CodePages pages_;
  OwnBreakpoints compile_places_;
  NotificationWatch notifications_;
  CompileWatch compilations_;
  std::unique_ptr<ManagedSteps> steps_;
  LoneRun lone_run_;
  double compile_milliseconds_ = 0;
  std::size_t images_ = 0; // ReadyToRun images at the last look
  // A step ended on another thread than it began with.
  struct Shown {
    std::uint64_t thread = 0, began = 0; // 0: no such step
    std::uint32_t stop = 0;              // its number
  };
  Shown shown_;
  std::uint32_t stop_told_ = 0;                      // the last stop that the user was told of; 0: none
  std::vector<lldb::SBBreakpoint> off_;              // the user's, while LLDB detaches
  bool looks_again_ = false;                         // for breakpoints, when code is compiled
  std::chrono::steady_clock::time_point shown_at_{}; // when code was shown while the process ran
  bool told_ = false, told_failure_ = false;
  bool attaches_ = false;   // there is an Attaching
  bool asked_owed_ = false; // the user interrupted publish_asked()
};

} // namespace clr::lldb_plugin
