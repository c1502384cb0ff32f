// State machines of async methods, and the numbers by which their tasks are known.
#include "core/memory/counting_reader.h"
#include "core/objects/state_machine.h"
#include "tests/objects/framework_types.h"
#include "tests/support/faults.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {
// A run of an async method whose machine is an object, as in code that is not optimised.
struct Run {
  ObjectRuntime made{Platform{}};
  Address task = made.instance(made.task_type, 8);
  Address self = made.instance(made.machine_type, 16);
  ObjectView view{made};
  StateMachines machines{view.target, view.objects.layouts()};

  std::optional<StateMachine> at_state(std::uint32_t state, Address of) {
    made.memory.at(made.fields_of(self)).pointer(of).u32(state);
    return machines.read(made.machine_type, self);
  }
};
} // namespace

TEST_CASE("a state machine tells its state and its task", "[state_machine]") {
  Run run;
  const auto machine = run.at_state(2, run.task);
  REQUIRE(machine);
  CHECK(machine->state == 2);
  CHECK(machine->task == run.task);
  CHECK(machine->object == run.self);
  CHECK_FALSE(run.machines.read(run.made.task_type, run.task));
}

TEST_CASE("the number of a task lies in the task, and is only read", "[state_machine]") {
  Run run;
  CHECK(run.machines.task_number(*run.at_state(0, run.task)) == run.made.fields_of(run.task));
  CHECK(run.machines.task_number(*run.at_state(0, 0)) == 0);
  // A builder that uses its boxes again has no task there.
  const Address box = run.made.instance(run.made.dog_type, 64);
  CHECK(run.machines.task_number(*run.at_state(0, box)) == 0);
}

TEST_CASE("the one that goes on is found in a list, on each platform", "[state_machine]") {
  for (const Platform& platform : all_platforms()) {
    INFO(to_string(platform));
    ObjectRuntime made(platform);
    FrameworkTypes types(made);
    const Address self = made.instance(made.machine_type, 16);
    made.memory.at(made.fields_of(self)).pointer(made.instance(made.task_type, 8)).u32(4);
    const Address list = types.make(
        "Continuations", {{"_items", types.objects({types.make("Box", {{"StateMachine", self}})})}});
    ObjectView view(made);
    StateMachines machines(view.target, view.objects.layouts());
    const StateMachine waited{.table = made.machine_type,
                              .task = types.make("Awaited", {{"m_continuationObject", list}})};
    const auto then = machines.continuation(waited);
    REQUIRE(then);
    CHECK(then->self == self);
    CHECK(then->state == 4);
  }
}

TEST_CASE("references in all directions are not followed without end", "[state_machine]") {
  ObjectRuntime made{Platform{}};
  FrameworkTypes types(made);
  Address next = 0;
  for (unsigned i = 0; i < 12; ++i)
    next = types.make("Awaited", {{"m_continuationObject", next}, {"m_action", next}, {"_target", next}});
  CountingReader reads(made.memory);
  ObjectView view(made, reads);
  StateMachines machines(view.target, view.objects.layouts());
  CHECK_FALSE(machines.continuation({.table = made.machine_type, .task = next}));
  CHECK(reads.reads() < 10'000);
}
