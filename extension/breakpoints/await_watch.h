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
    // The machine of the frame, in the middle of MoveNext; 0: not known.
    virtual Address self() = 0;
    // Where lines begin in the function.
    virtual std::vector<Line> lines() = 0;
    // The debugger's own plans of steps of `thread` are given up.
    virtual void end_steps(std::uint64_t thread) = 0;
    // Exceptions are followed from this frame.
    virtual void follow_exceptions() = 0;
  };
  // The stopped process. Nothing for what cannot be read.
  class Machines {
  public:
    virtual ~Machines() = default;
    virtual std::optional<StateMachine> read(Address table, Address self) = 0;
    virtual bool is_done(const StateMachine& machine) = 0;
    // Who goes on behind `machine`.
    virtual std::optional<Running> continuation(const StateMachine& machine) = 0;
    // All code of the method that `body` is of, with `body`.
    virtual std::vector<Body> bodies(const Body& body) = 0;
  };

  // The places and the machines must outlive this.
  AwaitWatch(Plants& plants, Machines& machines) : plants_(&plants), machines_(&machines) {}

  struct Step {
    std::uint64_t thread = 0;
    bool out = false; // else over or into
    Body body;        // that the thread stands in
    StateMachine machine;
    Address cfa = 0;        // of its frame
    std::uint32_t line = 0; // that it stands in
    // The caller is on the stack, as it is until the method has waited once: the debugger's plan ends there
    // when the method does.
    bool has_caller = false;
  };
  // From now on `step` is followed, until end_step().
  void arm(Step step);
  // The thread whose step is followed; 0: none.
  std::uint64_t thread() const { return active_ ? step_.thread : 0; }
  // The method of that thread has no caller on the stack.
  bool leaves_nowhere() const { return active_ && !waiting_ && !step_.has_caller; }
  // A thread came to a place: true when the step ends there.
  bool hit(Visitor& visitor);
  // No stops from now on: the step has ended. Its places stay until the process runs on.
  void end_step() { active_ = false; }
  // Before the process runs on.
  void disarm();
  // So many places are remembered that all of them should be forgotten.
  bool full() const { return places_.size() > max_places; }
  void forget();

  static constexpr std::size_t max_places = 2'000;
  static constexpr std::size_t max_lines = 1'000; // of a method

private:
  enum class Role : std::uint8_t { yield, entry, resume, line, continuation };
  struct Place {
    int number = 0;
    std::set<Role> roles;
  };
  void plant(Address address, Role role);
  void clear_all();
  bool is_ours(Visitor& visitor) const {
    return visitor.thread() == step_.thread && visitor.cfa() == step_.cfa;
  }
  bool visit(Role role, Visitor& visitor);
  void waits(Visitor& visitor);
  void await_continuation();
  bool enters(const StateMachine& machine, std::span<const Body> bodies, Visitor& visitor);
  bool resumes(Visitor& visitor);

  Plants* plants_;
  Machines* machines_;
  Step step_;
  std::vector<Body> bodies_;    // of the step's method
  std::optional<Running> then_; // who goes on when the method has ended
  bool active_ = false, waiting_ = false, planted_ = false;
  std::map<Address, Place> places_;
};

} // namespace clr::lldb_plugin
