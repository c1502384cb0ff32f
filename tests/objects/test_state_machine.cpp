// State machines of async methods, and the numbers by which their tasks are known.
#include "core/objects/state_machine.h"
#include "tests/objects/object_runtime.h"

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
