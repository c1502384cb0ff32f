// Who goes on when what is done, and the chains of methods that follow: also of damaged ones.
#include "core/waits/async_awaited.h"
#include "core/waits/async_chains.h"
#include "core/waits/async_stacks.h"
#include "tests/objects/framework_types.h"
#include "tests/support/lending_reader.h"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace clr;
using namespace clr::test;

namespace {

constexpr const char* box_name = "AsyncTaskMethodBuilder`1+AsyncStateMachineBox`1";
constexpr std::uint32_t done = 0x100'0000, faulted = 0x20'0000;

// A process with async methods, made by hand.
struct Waits {
  ObjectRuntime made{Platform{}};
  FrameworkTypes types{made};
  std::vector<FoundObject> tasks, pooled, semaphores, own;

  Address task(const char* type, FrameworkTypes::Values values) {
    tasks.push_back({types.make(type, values), types[type]});
    return tasks.back().address;
  }
  // A method that waits at its first await.
  Address box(std::uint32_t state = 0, std::uint32_t flags = 0) {
    const Address machine = types.make("Machine", {{"<>1__state", state}});
    return task(box_name, {{"StateMachine", machine}, {"m_stateFlags", flags}});
  }
  void then(Address task, Address continuation) {
    made.memory.at(types.place("Task", task, "m_continuationObject")).pointer(continuation);
  }
};

struct View {
  explicit View(Waits& of) : view(of.made), lineages(view.names.types()) {
    HeapPassResult found;
    std::ranges::sort(of.tasks, {}, &FoundObject::address);
    found.found = {of.tasks, of.pooled, of.semaphores, {}, of.own};
    graph.emplace(view.objects, lineages, found, 0);
    chains = async_chains(*graph);
  }
  std::vector<std::vector<Address>> boxes() const {
    std::vector<std::vector<Address>> all;
    for (const AsyncChain& chain : chains.chains) {
      all.emplace_back();
      for (const AsyncBox* const box : chain.boxes) all.back().push_back(box->object);
    }
    return all;
  }

  ObjectView view;
  TypeLineages lineages;
  std::optional<AsyncGraph> graph;
  AsyncChains chains;
};

using Boxes = std::vector<std::vector<Address>>;

} // namespace

TEST_CASE("a chain goes from the method that waits up to the last caller", "[async]") {
  Waits waits;
  const Address source = waits.task("Task", {}), first = waits.box(), second = waits.box(1),
                third = waits.box();
  waits.then(source, first);
  waits.then(first, second);
  waits.then(second, third);
  waits.box(0, done); // has ended
  View view(waits);
  CHECK(view.boxes() == Boxes{{first, second, third}});
  CHECK(view.chains.chains.front().end == AsyncChain::End::nobody);
  const Awaited awaited = AwaitedReader(*view.graph).of(*view.graph->box(first));
  CHECK(awaited.kind == AwaitedKind::completion_source);
  CHECK(awaited.object == source);
}

TEST_CASE("several continuations are several chains; promises between methods are passed", "[async]") {
  Waits waits;
  const Address leaf = waits.box(), left = waits.box(), right = waits.box();
  const Address promise = waits.task("Task+WhenAllPromise", {{"_remainingToComplete", 1}});
  waits.then(leaf,
             waits.types.make("List`1", {{"_items", waits.types.objects({left, 0, promise})}, {"_size", 3}}));
  waits.then(promise, right);
  View view(waits);
  CHECK(view.boxes() == Boxes{{leaf, left}, {leaf, right}});
}

TEST_CASE("a thread that waits for a task ends a chain", "[async]") {
  Waits waits;
  const Address box = waits.box(), blocker = waits.types.make("Task+SetOnInvokeMres", {});
  waits.then(box, blocker);
  View view(waits);
  REQUIRE(view.boxes() == Boxes{{box}});
  CHECK(view.chains.chains.front().end == AsyncChain::End::thread);
  CHECK(view.chains.chains.front().blocker == blocker);
}

TEST_CASE("a method that runs begins a chain when others wait for it", "[async]") {
  Waits waits;
  const Address runs = waits.box(0xffff'ffff), caller = waits.box();
  waits.then(runs, caller);
  waits.box(0xffff'ffff); // nobody waits for this one
  View view(waits);
  REQUIRE(view.boxes() == Boxes{{runs, caller}});
  CHECK_FALSE(view.chains.chains.front().no_beginning);
  CHECK(AwaitedReader(*view.graph).of(*view.graph->box(runs)).kind == AwaitedKind::running);
}

TEST_CASE("methods that wait for each other are told, once", "[async]") {
  Waits waits;
  const Address a = waits.box(), b = waits.box(), c = waits.box();
  waits.then(a, b);
  waits.then(b, a);
  waits.then(c, c);
  View view(waits);
  REQUIRE(view.boxes() == Boxes{{a, b}, {c}});
  CHECK(view.chains.chains[0].end == AsyncChain::End::loops);
  CHECK(view.chains.chains[0].no_beginning);
  CHECK(view.chains.chains[1].end == AsyncChain::End::loops);
}

TEST_CASE("tasks that lead into each other do not hang, and cost nothing else", "[async]") {
  Waits waits;
  const Address leaf = waits.box(), caller = waits.box();
  const Address one = waits.task("Task+WhenAllPromise", {}), two = waits.task("Task+WhenAllPromise", {});
  waits.then(leaf,
             waits.types.make("List`1", {{"_items", waits.types.objects({one, caller})}, {"_size", 2}}));
  waits.then(one, two);
  waits.then(two, one);
  View view(waits);
  CHECK(view.boxes() == Boxes{{leaf, caller}});
}

TEST_CASE("continuations of the wrong type, torn lists and missing memory cost themselves", "[async]") {
  Waits waits;
  const Address good = waits.box(), caller = waits.box();
  waits.then(good, caller);
  const Address text = waits.made.string(u"no continuation");
  waits.then(waits.box(), text);
  waits.then(waits.box(), 0x6666'0000);
  waits.then(waits.box(), waits.types.make("List`1", {{"_items", text}, {"_size", 1'000'000'000}}));
  waits.then(waits.box(), waits.types.make("List`1", {{"_items", waits.types.objects({0x6666'0000, text})},
                                                      {"_size", 2}}));
  const Address machine = waits.types.make("Machine", {});
  waits.task(box_name, {{"StateMachine", 0x6666'0000}});
  waits.task(box_name, {{"StateMachine", text}});
  waits.made.memory.at(machine).pointer(Address{0x6666'0000});
  waits.task(box_name, {{"StateMachine", machine}});
  View view(waits);
  const auto all = view.boxes();
  CHECK(std::ranges::find(all, std::vector{good, caller}) != all.end());
  CHECK(all.size() == 5);
  CHECK(view.graph->unreadable() >= 4);
}

TEST_CASE("chains that part again and again are bounded, and said to be", "[async]") {
  Waits waits;
  // Each of the two methods of a layer waits for both of the layer below: 2^20 ways.
  Address below[2] = {waits.box(), waits.box()};
  const Address only = waits.box();
  for (unsigned layer = 0; layer < 20; ++layer) {
    const Address above[2] = {waits.box(), waits.box()};
    for (const Address box : below)
      waits.then(box, waits.types.make(
                          "List`1", {{"_items", waits.types.objects({above[0], above[1]})}, {"_size", 2}}));
    std::ranges::copy(above, below);
  }
  View view(waits);
  CHECK(view.chains.left_out);
  CHECK(view.chains.chains.size() == 2 * max_chains_of_one + 1);
  const auto all = view.boxes();
  CHECK(std::ranges::find(all, std::vector{only}) != all.end());
}

TEST_CASE("a waiter of a semaphore leads to it, also in a ring", "[async]") {
  Waits waits;
  const Address box = waits.box();
  const Address node = waits.task("SemaphoreSlim+TaskNode", {}),
                next = waits.task("SemaphoreSlim+TaskNode", {{"Next", node}});
  waits.made.memory.at(waits.types.place("SemaphoreSlim+TaskNode", node, "Next")).pointer(next);
  const Address semaphore = waits.types.make("SemaphoreSlim", {{"m_asyncHead", next}});
  waits.semaphores.push_back({semaphore, waits.types["SemaphoreSlim"]});
  // A timeout stands between the two.
  waits.then(waits.task("Task+CancellationPromise`1", {{"_task", node}}), box);
  View view(waits);
  const Awaited awaited = AwaitedReader(*view.graph).of(*view.graph->box(box));
  CHECK(awaited.kind == AwaitedKind::semaphore);
  CHECK(awaited.object == semaphore);
}

TEST_CASE("tasks that failed are known with their exceptions", "[async]") {
  Waits waits;
  const Address exception = waits.made.instance(waits.made.exception_type, 64);
  const Address list = waits.types.make(
      "List`1", {{"_items", waits.types.objects({waits.types.make("Dispatch", {{"_exception", exception}})})},
                 {"_size", 1}});
  const Address properties = waits.types.make(
      "Properties", {{"m_exceptionsHolder", waits.types.make("Holder", {{"m_faultExceptions", list}})}});
  const Address task =
      waits.task("Task", {{"m_stateFlags", faulted}, {"m_contingentProperties", properties}});
  View view(waits);
  REQUIRE(view.graph->faulted().size() == 1);
  CHECK(view.graph->faulted().front() == task);
  CHECK(view.graph->kinds().failure(task).exception == exception);
  CHECK_FALSE(view.graph->kinds().failure(task).observed);
}

TEST_CASE("who waits for work is idle, to others somebody owes something", "[async]") {
  Waits waits;
  const auto box_on = [&](Address awaited) {
    const Address box = waits.box();
    waits.then(awaited, box);
    return box;
  };
  const Address source = box_on(waits.task("Task", {}));
  const Address semaphore = box_on(waits.task("SemaphoreSlim+TaskNode", {}));
  const Address all = waits.task("Task+WhenAllPromise", {{"_remainingToComplete", 1}});
  const Address combined = box_on(all);
  waits.then(waits.task("Task", {}), all);
  const Address timer = waits.types.make("TimerQueueTimer", {{"_dueTime", 500}});
  const Address delay = waits.task("Task+DelayPromise", {{"_timer", timer}});
  const Address pause = box_on(delay), endless = box_on(waits.task("Task+DelayPromise", {}));
  const Address delays = waits.task("Task+WhenAllPromise", {{"_remainingToComplete", 1}});
  const Address later = box_on(delays);
  waits.then(waits.task("Task+DelayPromise", {{"_timer", timer}}), delays);
  const Address caller = waits.box(), runs = waits.box(0xffff'ffff);
  waits.then(runs, caller);
  View view(waits);
  AwaitedReader reader(*view.graph);
  const auto use = [&](Address box) { return reader.of(*view.graph->box(box)).use; };
  CHECK(use(source) == AwaitUse::owed);
  CHECK(use(semaphore) == AwaitUse::owed);
  CHECK(use(combined) == AwaitUse::owed);
  CHECK(use(pause) == AwaitUse::goes_on);
  CHECK(use(later) == AwaitUse::goes_on);
  CHECK(use(runs) == AwaitUse::goes_on);
  CHECK(use(endless) == AwaitUse::idle);
}

TEST_CASE("a task that the runtime goes on with leads through its continuations", "[async]") {
  Waits waits;
  // Neither stub can be read: the methods stay unknown, the chain is whole.
  const Address last = waits.types.make("Continuation", {});
  const Address second = waits.types.make("Continuation", {{"Next", last}, {"Resume", 0x20}, {"State", 1}});
  const Address first = waits.types.make("Continuation", {{"Next", second}, {"Resume", 0x10}});
  const Address source = waits.task("Task", {}), caller = waits.box();
  const Address thunk = waits.task("AsyncHelpers+ThunkTask", {{"m_stateObject", first}});
  waits.task("AsyncHelpers+ThunkTask", {{"m_stateObject", first}, {"m_stateFlags", done}});
  waits.then(source, thunk);
  waits.then(thunk, caller);
  View view(waits);
  REQUIRE(view.boxes() == Boxes{{first, second, caller}});
  const AsyncBox* const box = view.graph->box(second);
  REQUIRE(box != nullptr);
  CHECK(box->state == 1);
  REQUIRE(box->resume != nullptr);
  CHECK(box->resume->method_desc == 0);
  CHECK_FALSE(box->resume->problem.empty());
  CHECK(AwaitedReader(*view.graph).of(*view.graph->box(first)).object == source);
  CHECK_FALSE(view.graph->left_out());
}

TEST_CASE("a method that the runtime suspended waits for the task that its continuation keeps", "[async]") {
  Waits waits;
  // The runtime's own method between the two keeps what it was called with, too.
  const Address task = waits.task("AsyncHelpers+ThunkTask", {});
  const auto waits_for = [&](std::initializer_list<Address> held) {
    const Address own = waits.types.make("Continuation", {{"GCData", waits.types.objects(held)}});
    View view(waits);
    return Continuations(view.graph->kinds(), view.view.names).held_by(own, task);
  };
  const Address ended = waits.task("Task", {{"m_stateFlags", done}}), open = waits.task("Task", {}),
                source = waits.types.make("Source", {}), argument = waits.made.string(u"an argument");
  CHECK(waits_for({argument, ended, source, open}) == open);
  CHECK(waits_for({argument, 0, source, ended}) == source);
  CHECK(waits_for({argument, ended}) == ended);
  CHECK(waits_for({argument}) == 0);
  // What it waits for may wait for another task itself, which an inlined method left behind.
  const Address inner = waits.task("Task", {}), own = waits.task("Task", {});
  waits.then(inner, waits.box());
  waits.then(own, task);
  CHECK(waits_for({inner, source}) == source);
  CHECK(waits_for({inner, open}) == open);
  CHECK(waits_for({open, inner, source, own}) == own);
  CHECK(waits_for({ended, inner}) == inner);
}

TEST_CASE("a box that is at rest waits for nothing, though its state is 0", "[async]") {
  Waits waits;
  constexpr const char* pooled = "PoolingAsyncValueTaskMethodBuilder`1+StateMachineBox`1";
  const auto box = [&] {
    const Address object = waits.types.make(pooled, {});
    waits.pooled.push_back({object, waits.types[pooled]});
    return object;
  };
  const Address live = box();
  box(); // at rest
  const Address machine = waits.types.place(pooled, live, "StateMachine");
  waits.types.set("PooledMachine", machine, "<>t__builder", live);
  View view(waits);
  CHECK(view.boxes() == Boxes{{live}});
}

TEST_CASE("a task waits for those that it began as its children", "[async]") {
  Waits waits;
  constexpr std::uint32_t attached = 0x4, children = 0x80'0000;
  const Address parent = waits.task("Task", {{"m_stateFlags", children}});
  const Address properties = waits.types.make("Properties", {{"m_parent", parent}});
  const Address child =
      waits.task("Task", {{"m_stateFlags", attached}, {"m_contingentProperties", properties}});
  const Address grown = waits.task("Task", {{"m_contingentProperties", properties}}); // not attached
  View view(waits);
  REQUIRE(view.graph->awaited(parent).size() == 1);
  CHECK(view.graph->awaited(parent).front().to == child);
  CHECK(view.graph->waiters(grown).empty());
}

TEST_CASE("a delay by a timer of another kind has no length that is known", "[async]") {
  Waits waits;
  const auto on = [&](Address timer) {
    const Address box = waits.box();
    waits.then(waits.task("Task+DelayPromise", {{"_timer", timer}}), box);
    return box;
  };
  const Address ours = on(waits.types.make("TimerQueueTimer", {{"_dueTime", 1500}})),
                theirs = on(waits.types.make("Source", {})), endless = on(0);
  View view(waits);
  AwaitedReader reader(*view.graph);
  const auto text = [&](Address box) { return reader.of(*view.graph->box(box)).text; };
  CHECK(text(ours) == "a delay of 00:00:01.5000000");
  CHECK(text(theirs) == "a delay by a timer that is not .NET's own: System.Threading.Tasks.Source");
  CHECK(text(endless) == "a delay without end");
}

TEST_CASE("continuations that run in circles end, and are told", "[async]") {
  Waits waits;
  const Address one = waits.types.make("Continuation", {{"Resume", 0x10}});
  const Address two = waits.types.make("Continuation", {{"Next", one}, {"Resume", 0x10}});
  waits.made.memory.at(waits.types.place("Continuation", one, "Next")).pointer(two);
  const Address thunk = waits.task("AsyncHelpers+ThunkTask", {{"m_stateObject", one}});
  const Address caller = waits.box();
  waits.then(thunk, caller);
  View view(waits);
  CHECK(view.graph->left_out());
  CHECK(view.boxes() == Boxes{{one, two, caller}});
}

TEST_CASE("continuations that several tasks lead to are those of one of them, and that is told", "[async]") {
  Waits waits;
  const Address last = waits.types.make("Continuation", {});
  const Address second = waits.types.make("Continuation", {{"Next", last}, {"Resume", 0x20}});
  const Address first = waits.types.make("Continuation", {{"Next", second}, {"Resume", 0x10}});
  for (int i = 0; i < 3; ++i) waits.task("AsyncHelpers+ThunkTask", {{"m_stateObject", first}});
  View view(waits);
  CHECK(view.boxes() == Boxes{{first, second}});
  CHECK(view.graph->left_out());
}

TEST_CASE("the name of a stub that goes on with a method", "[async]") {
  CHECK(resumed_name("IL_STUB_AsyncResume_Leaf_Optimized") == "Leaf");
  CHECK(resumed_name("IL_STUB_AsyncResume_Load_All_Tier0") == "Load_All");
  CHECK(resumed_name("IL_STUB_AsyncResume_") == "");
  CHECK(resumed_name("IL_STUB_PInvoke") == "");
}

TEST_CASE("a list that many tasks share is looked at as often as the limit allows", "[async]") {
  Waits waits;
  const Address caller = waits.box();
  constexpr std::uint32_t count = 800;
  const Address items = waits.made.array(waits.made.objects_type, count, count * 8);
  for (std::uint32_t i = 0; i < count; ++i)
    waits.made.memory.write_integer(waits.made.elements_of(items) + Address{i} * 8, caller, 8);
  const Address list = waits.types.make("List`1", {{"_items", items}, {"_size", count}});
  for (std::uint32_t i = 0; i < count; ++i) waits.then(waits.task("Task", {}), list);
  View view(waits);
  CHECK(view.graph->left_out());
  CHECK(view.graph->awaited(caller).size() > 100); // of those that came before
}

TEST_CASE("what continuations keep is looked into as often as the limit allows", "[async]") {
  Waits waits;
  TargetBuilder& target = waits.made.runtime.target;
  target.type("AsyncResumeInfo", {{"DiagnosticIP"}});
  const Address own = target.record("AsyncResumeInfo", {{"DiagnosticIP", 0}});
  // Each of these tasks keeps the one that leads to the same long list.
  const Address kept = waits.task("Task", {}), caller = waits.box();
  constexpr std::uint32_t count = 700, links = 1'500;
  const Address items = waits.made.array(waits.made.objects_type, links, links * 8);
  for (std::uint32_t i = 0; i < links; ++i)
    waits.made.memory.write_integer(waits.made.elements_of(items) + Address{i} * 8, caller, 8);
  const Address list = waits.types.make("List`1", {{"_items", items}, {"_size", links}});
  waits.then(kept, waits.types.make("AwaitTaskContinuation", {{"m_action", list}}));
  const Address data = waits.types.objects({kept});
  for (std::uint32_t i = 0; i < count; ++i)
    waits.task(
        "AsyncHelpers+ThunkTask",
        {{"m_stateObject", waits.types.make("Continuation#11", {{"GCData", data}, {"ResumeInfo", own}})}});
  View view(waits);
  CHECK(view.graph->left_out());
  CHECK(view.graph->waiters(kept).size() == 1); // what leads on has a limit of its own
}

TEST_CASE("threads that have the tasks of continuations are found by one look at their stacks", "[async]") {
  Waits waits;
  constexpr unsigned count = 40;
  constexpr Address stack = 0x7000'0000;
  waits.made.memory.write(stack, Bytes(8 * count));
  std::vector<Address> thunks, ends;
  for (unsigned i = 0; i < count; ++i) {
    const Address last = waits.types.make("Continuation", {});
    ends.push_back(waits.types.make("Continuation", {{"Next", last}, {"Resume", 0x20}, {"State", 1}}));
    const Address first = waits.types.make("Continuation", {{"Next", ends.back()}, {"Resume", 0x10}});
    thunks.push_back(waits.task("AsyncHelpers+ThunkTask", {{"m_stateObject", first}}));
    waits.made.memory.write_integer(stack + 8 * i, thunks.back(), 8);
  }
  LendingReader counted(waits.made.memory);
  ObjectView objects(waits.made, counted);
  TypeLineages lineages(objects.names.types());
  HeapPassResult found;
  std::ranges::sort(waits.tasks, {}, &FoundObject::address);
  found.found = {waits.tasks, {}, {}, {}, {}};
  AsyncGraph graph(objects.objects, lineages, found, 0);
  ThreadTop one{.os_id = 7, .registers = RegisterContext(Cpu::x64)}, other{one};
  one.registers.set_sp(stack);
  other.os_id = 8;
  other.registers.set(3, thunks[5]);
  const std::vector<ThreadTop> threads{one, other};
  const std::size_t before = counted.reads();
  const auto holders = find_task_holders(graph, threads);
  CHECK(counted.reads() - before < 5);
  CHECK(holders.size() == count);
  for (unsigned i = 0; i < count; ++i) CHECK(holders.at(ends[i]).size() == (i == 5 ? 2 : 1));
}

TEST_CASE("a long text of what a method waits for is cut", "[async]") {
  Waits waits;
  MetadataBuilder metadata;
  metadata.assembly("app");
  const std::uint32_t row = metadata.type("App", std::string(900, 'x'));
  const std::uint32_t inner = metadata.type("App." + std::string(900, 'y'), std::string(900, 'z'));
  const Address module = waits.made.runtime.module(
      {.path = "/app/long.dll", .simple_name = "long", .metadata = metadata.build()});
  const auto text = [&](std::uint32_t rid) {
    const Address type = waits.made.runtime.type({.module = module, .rid = rid});
    waits.made.shape(type, 8, 0, {});
    waits.made.runtime.target.set(type, "MethodTable", "ParentMethodTable", waits.made.object_type);
    const Address box = waits.box();
    waits.then(waits.task("Task+DelayPromise", {{"_timer", waits.made.instance(type, 8)}}), box);
    View view(waits);
    return AwaitedReader(*view.graph).of(*view.graph->box(box)).text;
  };
  const std::string whole = text(row), cut = text(inner);
  CHECK_THAT(whole, Catch::EndsWith("App." + std::string(900, 'x')));
  CHECK(cut.size() == AwaitedReader::max_awaited_text + 3);
  CHECK_THAT(cut, Catch::EndsWith("z..."));
}

TEST_CASE("the parts of what many methods wait for are looked at once", "[async]") {
  Waits waits;
  const Address all = waits.task("Task+WhenAllPromise", {{"_remainingToComplete", 1}});
  constexpr std::uint32_t delays = 1'000, boxes = 50;
  for (std::uint32_t i = 0; i < delays; ++i) waits.then(waits.task("Task+DelayPromise", {}), all);
  const Address items = waits.made.array(waits.made.objects_type, boxes, boxes * 8);
  std::vector<Address> waiting;
  for (std::uint32_t i = 0; i < boxes; ++i) {
    waiting.push_back(waits.box());
    waits.made.memory.write_integer(waits.made.elements_of(items) + Address{i} * 8, waiting.back(), 8);
  }
  waits.then(all, waits.types.make("List`1", {{"_items", items}, {"_size", boxes}}));
  LendingReader counted(waits.made.memory);
  ObjectView objects(waits.made, counted);
  TypeLineages lineages(objects.names.types());
  HeapPassResult found;
  std::ranges::sort(waits.tasks, {}, &FoundObject::address);
  found.found = {waits.tasks, {}, {}, {}, {}};
  AsyncGraph graph(objects.objects, lineages, found, 0);
  AwaitedReader reader(graph);
  const std::size_t before = counted.reads();
  for (const Address box : waiting) CHECK(reader.of(*graph.box(box)).use == AwaitUse::goes_on);
  CHECK(counted.reads() - before < 2 * delays + 40 * boxes);
}

TEST_CASE("few methods that make many long chains are cut, and said to be", "[async]") {
  Waits waits;
  constexpr std::size_t length = 5'000;
  Address last = waits.box();
  const Address first = last;
  for (std::size_t i = 1; i < length; ++i) {
    const Address next = waits.box();
    waits.then(last, next);
    last = next;
  }
  // Behind the last one the chain parts ten times.
  Address below[2] = {last, last};
  for (unsigned layer = 0; layer < 10; ++layer) {
    const Address above[2] = {waits.box(), waits.box()};
    for (const Address box : below)
      waits.then(box, waits.types.make(
                          "List`1", {{"_items", waits.types.objects({above[0], above[1]})}, {"_size", 2}}));
    std::ranges::copy(above, below);
  }
  View view(waits);
  CHECK(view.chains.left_out);
  std::size_t frames = 0;
  for (const AsyncChain& chain : view.chains.chains) {
    CHECK(chain.boxes.front()->object == first);
    frames += chain.boxes.size();
  }
  CHECK(frames < max_shared_frames + 64 * view.graph->boxes().size() + max_chain);
}

namespace {

// Types of the user's: a builder that keeps a promise, and the machine that the compiler makes of a method.
struct OwnTypes {
  explicit OwnTypes(ObjectRuntime& of) : made(&of) {
    constexpr std::uint32_t value_category = 0x0004'0000;
    const unsigned p = of.runtime.pointer();
    MetadataBuilder metadata;
    metadata.assembly("app");
    const auto field = [&](const char* name, const Bytes& signature) {
      return metadata.add(MetadataTable::field, {0, metadata.string(name), metadata.blob(signature)});
    };
    const std::uint32_t builder_row = metadata.type("App", "Builder");
    metadata.set(MetadataTable::type_def, builder_row, 4, metadata.rows(MetadataTable::field) + 1);
    const std::uint32_t promise = field("_promise", bytes_of({6, 0x1c}));
    const std::uint32_t machine_row = metadata.type("App", "<Run>d__1");
    metadata.set(MetadataTable::type_def, machine_row, 4, metadata.rows(MetadataTable::field) + 1);
    const std::uint32_t state = field("<>1__state", bytes_of({6, 0x08}));
    const std::uint32_t builder_field = field("<>t__builder", bytes_of({6, 0x11, builder_row << 2}));
    const Address module =
        of.runtime.module({.path = "/app/own.dll", .simple_name = "own", .metadata = metadata.build()});
    builder = of.runtime.type({.module = module, .rid = builder_row, .category = value_category});
    of.shape(builder, p, 0, {{.rid = promise, .offset = 0}});
    machine = of.runtime.type({.module = module, .rid = machine_row});
    of.shape(
        machine, 2 * p, 0,
        {{.rid = builder_field, .offset = 0, .element = 0x11}, {.rid = state, .offset = p, .element = 0x08}});
    for (const Address type : {builder, machine})
      of.runtime.target.set(type, "MethodTable", "ParentMethodTable", of.object_type);
    of.map_types(module, {{builder_row, builder}, {machine_row, machine}});
  }
  // A method that waits at its first await, and whose builder keeps `promise`.
  FoundObject method(Address promise) const {
    const Address object = made->instance(machine, 2 * made->runtime.pointer());
    made->memory.at(made->fields_of(object)).pointer(promise);
    return {object, machine};
  }

  ObjectRuntime* made;
  Address builder = 0, machine = 0;
};

} // namespace

TEST_CASE("a builder of the user's own leads from its method to who waits for its promise", "[async]") {
  Waits waits;
  OwnTypes own(waits.made);
  const Address promise = waits.task("Task", {}), caller = waits.box();
  waits.then(promise, caller);
  waits.own = {own.method(promise)};
  const Address method = waits.own[0].address;
  CHECK(View(waits).boxes() == Boxes{{method, caller}});
  // What two methods hold is no promise of one of them.
  waits.own.push_back(own.method(promise));
  std::ranges::sort(waits.own, {}, &FoundObject::address);
  for (const auto& chain : View(waits).boxes()) CHECK(chain.size() == 1);
}

TEST_CASE("a worker of Parallel.ForEachAsync leads to the task of all workers", "[async]") {
  Waits waits;
  const Address all = waits.task("Task", {}), caller = waits.box();
  waits.then(all, caller);
  const Address state = waits.types.make("ForEachAsyncState`1", {{"_task", all}});
  const Address worker =
      waits.task(box_name, {{"StateMachine", waits.types.make("Worker", {{"state", state}})}});
  CHECK(View(waits).boxes() == Boxes{{worker, caller}});
}
