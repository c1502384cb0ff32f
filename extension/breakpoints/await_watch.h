// Steps in async methods. A method that waits returns to its caller and is called again later, by any thread:
// no plan of the debugger's, which follows a thread and its stack, sees it go on. What is followed here is
// the state machine.
#pragma once

#include "core/describe/await_places.h"
#include "core/objects/state_machine.h"
#include "extension/breakpoints/plants.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace clr::lldb_plugin {

class AwaitWatch {
public:
  // A body of a MoveNext.
  struct Body {
    Address start = 0;
    std::vector<AwaitPlace> awaits; // by state
  };
  struct Line {
    Address begin = 0;
    std::uint32_t line = 0;
  };
  // A state machine with the code that runs it.
  struct Running {
    StateMachine machine;
    std::vector<Body> bodies;
  };
  // The frame of an async method that has called another one.
  struct Caller {
    Body body;
    Address table = 0, cfa = 0; // of its machine; of the frame
    std::uint32_t line = 0;     // of the call
  };
  // The thread that came to a place.
  class Visitor {
  public:
    virtual ~Visitor() = default;
    virtual std::uint64_t thread() = 0;
    virtual Address pc() = 0;
    virtual Address sp() = 0;
    virtual Address cfa() = 0;
    // At the start of a function: its first argument.
    virtual Address argument() = 0;
    // The machine of the frame of MoveNext with this CFA on the stack of `thread`. Nothing: there is no such
    // frame any more; 0: it does not tell.
    virtual std::optional<Address> machine_of(std::uint64_t thread, Address cfa) = 0;
    // Where lines begin in the function that has code at `at`.
    virtual std::vector<Line> lines(Address at) = 0;
    // A place behind the call whose return address lies at `slot`; 0: not known.
    virtual Address behind_call(Address slot) = 0;
    // Behind the last call on the straight way from `begin`; 0: there is none.
    virtual Address behind_calls(Address begin) = 0;
    // The step leaves what `thread` runs: the debugger's own plans are given up, and no exceptions are
    // followed.
    virtual void leave(std::uint64_t thread) = 0;
    // Exceptions are followed from this frame.
    virtual void follow_exceptions() = 0;
  };
  // The stopped process. Nothing for what cannot be read.
  class Machines {
  public:
    virtual ~Machines() = default;
    virtual std::optional<StateMachine> read(Address table, Address self) = 0;
    // By which `machine` is known again after it was moved; 0: it has no such mark, or none yet. `make`: it
    // gets one if it has a task.
    virtual std::uint32_t mark(const StateMachine& machine, bool make) = 0;
    virtual bool is_done(const StateMachine& machine) = 0;
    // Who goes on behind `machine`.
    virtual std::optional<Running> continuation(const StateMachine& machine) = 0;
    // All code of the method that `body` is of, with `body`.
    virtual std::vector<Body> bodies(const Body& body) = 0;
  };

  // `passing` are places at which a step never ends, `ends` those at which it may: the debugger has
  // breakpoints of its own at some of the former. All must outlive this.
  AwaitWatch(Plants& passing, Plants& ends, Machines& machines)
      : passing_{.plants = &passing, .at = {}}, ends_{.plants = &ends, .at = {}}, machines_(&machines) {}

  struct Step {
    std::uint64_t thread = 0;
    bool out = false; // else over or into
    Body body;        // that the thread stands in
    StateMachine machine;
    Address cfa = 0;        // of its frame
    std::uint32_t line = 0; // that it stands in
    Address returned = 0;   // a place that it comes to behind the method; 0: not known
    // The caller is on the stack, as it is until the method has waited once: the debugger's plan ends there
    // when the method does.
    bool has_caller = false;
    std::optional<Caller> caller; // when it is an async method
  };
  // From now on `step` is followed, until end_step().
  void arm(Step step);
  // The step is one out of the method, as it turns out.
  void ends_behind_method() { step_.out = true; }
  // The step is one out of the method that thread() is in.
  bool ends_outside() const { return active_ && step_.out; }
  // The thread whose step is followed; 0: none.
  std::uint64_t thread() const { return active_ ? step_.thread : 0; }
  // The method that waits at its await, as it was then; null: none does.
  const Body* waiting() const { return active_ && waits_ ? &step_.body : nullptr; }
  // Code of the method of waiting() was compiled: it may go on with that.
  void add(Body body);
  // The method of thread() has no caller on the stack.
  bool leaves_nowhere() const { return active_ && !waits_ && !step_.has_caller; }
  // A thread came to a place: true when the step ends there.
  bool hit(Visitor& visitor);
  // No stops from now on: the step has ended. Its places stay until the process runs on.
  void end_step() { active_ = false; }
  // Before the process runs on.
  void disarm();
  // So many places are remembered that all of them should be forgotten.
  bool full() const { return passing_.at.size() + ends_.at.size() > max_places; }
  void forget();

  static constexpr std::size_t max_places = 2'000;
  static constexpr std::size_t max_lines = 1'000; // of a method
  // Lines of the caller at which a thread stops while the method that it called has not ended; then it runs
  // on without stops until that has.
  static constexpr unsigned max_early_lines = 20;

private:
  enum class Role : std::uint8_t {
    yield,
    boxed,
    returned,
    entry,
    continuation,
    resume,
    line,
    caller_yield,
    caller_boxed,
    caller_line,
  };
  struct Place {
    int number = 0;
    std::uint64_t thread = 0; // the only one that stops at it; 0: all do
    std::set<Role> roles;
  };
  struct Places {
    Plants* plants = nullptr;
    std::map<Address, Place> at;
    // `thread`: the only one that comes there in this role; 0: any may.
    void plant(Address address, Role role, std::uint64_t thread = 0);
    void clear();
    // No place is wanted any more for this alone.
    void drop(Role role);
    void forget();
    std::set<Role> roles(Address address) const;
  };
  // A machine that may be moved before it is seen again.
  struct Known {
    StateMachine machine;
    std::uint32_t mark = 0;
  };
  // The caller that a method left when it waited for the first time. Another thread may have gone on with the
  // method by now, and have ended it, before the caller comes to wait for it.
  struct Left {
    Known callee;
    Caller caller;
    std::vector<Line> lines;     // of the caller
    std::uint64_t thread = 0;    // that runs it
    std::optional<Running> then; // the caller, since it waits itself
    Address boxed = 0;           // a place at which it has its task then
    unsigned early_lines = 0;    // that it came to while the method had not ended
  };
  Known known(const StateMachine& machine) { return {machine, machines_->mark(machine, true)}; }
  bool same(const Known& known, const StateMachine& machine);
  void clear();
  bool is_ours(Visitor& visitor) const {
    return !ended_ && visitor.thread() == step_.thread && visitor.cfa() == step_.cfa;
  }
  bool is_left(Visitor& visitor) const {
    return left_ && visitor.thread() == left_->thread && visitor.cfa() == left_->caller.cfa;
  }
  bool begins_line(const std::vector<Line>& lines, Address pc) const;
  bool visit(Role role, Visitor& visitor);
  void waits(Visitor& visitor);
  void look_again(Visitor& visitor);
  void returns(Visitor& visitor);
  void follow_end();
  void follow(Running then);
  void leaves_caller(Visitor& visitor);
  void plant_left();
  void plant_callers_lines();
  bool ends_in_caller(Visitor& visitor);
  void caller_waits(Visitor& visitor);
  void look_at_caller_again(Visitor& visitor);
  bool enters(Visitor& visitor);
  bool continues(Visitor& visitor);
  bool has_ended(Visitor& visitor);
  bool goes_on(const StateMachine& machine, std::span<const Body> bodies, Visitor& visitor);
  bool resumes(Visitor& visitor);
  void plant_lines(Visitor& visitor);

  Places passing_, ends_;
  Machines* machines_;
  Step step_;
  std::optional<Known> waits_;  // the step's machine, while it waits
  std::vector<Body> bodies_;    // of the step's method
  std::optional<Running> then_; // who goes on when the method has ended
  std::uint32_t then_mark_ = 0;
  std::optional<Left> left_, left_before_; // by this step; by the one before, until the process runs on
  bool ended_ = false;                     // the step's thread has left the method, which has ended
  bool active_ = false;
};

} // namespace clr::lldb_plugin
