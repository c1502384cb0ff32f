// What the tasks wait for that threads wait for, also of damaged ones.
#include "core/waits/deadlock_tasks.h"
#include "tests/objects/framework_types.h"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace clr;
using namespace clr::test;

namespace {

constexpr const char* box_name = "AsyncTaskMethodBuilder`1+AsyncStateMachineBox`1";

// A thread that waits for a task.
struct Process {
  ObjectRuntime made{Platform{}};
  FrameworkTypes types{made};
  std::vector<FoundObject> tasks;

  Address task(const char* type, FrameworkTypes::Values values = {}) {
    tasks.push_back({types.make(type, values), types[type]});
    return tasks.back().address;
  }
  Address box() { return task(box_name, {{"StateMachine", types.make("Machine", {})}}); }
  void then(Address task, Address continuation) {
    made.memory.at(types.place("Task", task, "m_continuationObject")).pointer(continuation);
  }
  std::vector<TaskWait> waits(Address task) {
    ObjectView view(made);
    TypeLineages lineages(view.names.types());
    HeapPassResult found;
    std::ranges::sort(tasks, {}, &FoundObject::address);
    found.found = {tasks, {}, {}, {}, {}};
    AsyncGraph graph(view.objects, lineages, found, 0);
    LockTable table;
    table.waits.push_back({.os_id = 7, .objects = {{task, LockKind::task}}, .native = {}});
    table.locks.push_back({.state = {.object = task, .kind = LockKind::task, .text = {}},
                           .owner = {},
                           .readers = {},
                           .waiters = {0},
                           .fault = {}});
    return task_waits(table, graph, view.objects, view.names);
  }
};

} // namespace

TEST_CASE("a task waits for the tasks that its method awaits", "[deadlock]") {
  Process process;
  const Address source = process.task("Task"), method = process.box();
  process.then(source, method);
  const std::vector<TaskWait> waits = process.waits(method);
  REQUIRE(waits.size() == 1);
  CHECK(waits[0].task == method);
  CHECK(waits[0].tasks == std::vector{source});
}

TEST_CASE("an awaited object whose type cannot be read leads nowhere, and costs nothing else", "[deadlock]") {
  Process process;
  const Address source = process.task("Task"), method = process.box();
  process.then(source, method);
  // Found as a task; then its type is lost.
  process.made.memory.at(source).pointer(Address{0x6666'0000});
  const std::vector<TaskWait> waits = process.waits(method);
  REQUIRE(waits.size() == 1);
  CHECK(waits[0].tasks == std::vector{source});
}

TEST_CASE("a method that waits for its own task waits for itself", "[deadlock]") {
  Process process;
  const Address method = process.box();
  process.then(method, method);
  const std::vector<TaskWait> waits = process.waits(method);
  REQUIRE(waits.size() == 1);
  CHECK(waits[0].tasks == std::vector{method});
  Process torn; // no method would write this
  const Address promise = torn.task("Task");
  torn.then(promise, promise);
  CHECK(torn.waits(promise).empty());
}
