// Cycles in graphs of waits, and what is and what is not a deadlock.
#include "core/waits/deadlock.h"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace clr;

namespace {

using Node = WaitGraph::Node;

Node thread(std::uint64_t os_id) {
  return {WaitGraph::Kind::thread, os_id};
}

// A table of locks and waits that was never in memory.
struct Waits {
  std::size_t row(Address object, LockKind kind, std::optional<std::uint64_t> owner) {
    LockRow row{.state = {.object = object, .kind = kind, .held = owner.has_value(), .text = {}},
                .owner = {},
                .readers = {},
                .waiters = {},
                .fault = {}};
    if (owner) row.owner = LockHolder{.os_id = owner, .managed_id = {}};
    table.locks.push_back(std::move(row));
    return table.locks.size() - 1;
  }
  ThreadWait& wait(std::uint64_t os_id, const std::vector<std::size_t>& rows,
                   WaitMode mode = WaitMode::enter) {
    ThreadWait wait{
        .os_id = os_id, .what = ThreadWait::What::objects, .objects = {}, .mode = mode, .native = {}};
    for (const std::size_t row : rows) {
      wait.objects.push_back({table.locks[row].state.object, table.locks[row].state.kind});
      table.locks[row].waiters.push_back(table.waits.size());
    }
    table.waits.push_back(std::move(wait));
    return table.waits.back();
  }
  std::vector<Deadlock> deadlocks(const std::vector<TaskWait>& tasks = {}) const {
    return find_deadlocks(table, wait_edges(table, tasks));
  }
  static std::vector<std::uint64_t> threads(const Deadlock& deadlock) {
    std::vector<std::uint64_t> ids;
    for (const DeadlockMember& member : deadlock.members)
      if (member.node.kind == WaitGraph::Kind::thread) ids.push_back(member.node.id);
    return ids;
  }

  LockTable table;
};

} // namespace

TEST_CASE("a chain of waits is no cycle, however long", "[wait_graph]") {
  WaitGraph graph;
  constexpr std::uint64_t length = 200'000;
  for (std::uint64_t i = 0; i < length; ++i) graph.connect(graph.add(thread(i)), graph.add(thread(i + 1)), i);
  CHECK(graph.knots().empty());
  graph.connect(graph.add(thread(length)), graph.add(thread(0)), length);
  const auto knots = graph.knots();
  REQUIRE(knots.size() == 1);
  CHECK(knots[0].cycle.size() == length + 1);
  CHECK(knots[0].others.empty());
}

TEST_CASE("each knot has a shortest cycle through its smallest node, and the others", "[wait_graph]") {
  WaitGraph graph;
  const auto connect = [&](std::uint64_t from, std::uint64_t to) {
    graph.connect(graph.add(thread(from)), graph.add(thread(to)), 0);
  };
  connect(9, 9); // itself
  connect(5, 6);
  connect(6, 5);
  connect(1, 2);
  connect(2, 3);
  connect(3, 1);
  connect(2, 1); // the shorter one
  connect(7, 1); // outside
  const auto knots = graph.knots();
  REQUIRE(knots.size() == 3);
  CHECK(knots[0].cycle.size() == 2);
  REQUIRE(knots[0].others.size() == 1);
  CHECK(graph.nodes()[graph.edges()[knots[0].others[0]].from] == thread(3));
  CHECK(knots[1].cycle.size() == 2);
  CHECK(knots[2].cycle.size() == 1);
}

TEST_CASE("two threads with each other's lock are a deadlock, and who waits behind them is told",
          "[deadlock]") {
  Waits waits;
  const std::size_t a = waits.row(0xa0, LockKind::monitor, 1), b = waits.row(0xb0, LockKind::lock, 2);
  waits.wait(1, {b});
  waits.wait(2, {a});
  waits.wait(3, {a});
  waits.row(0xc0, LockKind::monitor, 3);
  const auto found = waits.deadlocks();
  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == DeadlockKind::locks);
  CHECK(Waits::threads(found[0]) == std::vector<std::uint64_t>{1, 2});
  CHECK(found[0].members[0].waits_for.object.object == 0xb0);
  REQUIRE(found[0].members[0].holds.size() == 1);
  CHECK(found[0].members[0].holds[0].object == 0xa0);
  CHECK(found[0].victims == std::vector<std::uint64_t>{3});
  CHECK(found[0].certain);
  CHECK_FALSE(found[0].ends);
}

TEST_CASE("who waits behind thousands of deadlocks is told of those that come first", "[deadlock]") {
  Waits waits;
  // A thread that waits for a task, which is one of two that wait for each other, and one of these for the
  // next two.
  const std::uint64_t pairs = GENERATE(10u, 4'000u);
  waits.wait(1, {waits.row(0x10, LockKind::task, std::nullopt)});
  std::vector<TaskWait> tasks;
  for (std::uint64_t i = 1; i <= pairs; ++i) {
    const Address first = 0x10 * i, second = first + 8, next = first + 0x10;
    tasks.push_back({.task = first, .tasks = {second}, .threads = {}});
    tasks.push_back({.task = second, .tasks = {first}, .threads = {}});
    if (i < pairs) tasks.back().tasks.push_back(next);
  }
  const auto found = waits.deadlocks(tasks);
  REQUIRE(found.size() == pairs);
  CHECK(found.front().victims == std::vector<std::uint64_t>{1});
  CHECK(found.back().victims.empty() == (pairs == 4'000)); // behind 8,000 tasks, and so are those before
  CHECK(found.back().more_victims == (pairs == 4'000));
}

TEST_CASE("what may still go on is no deadlock", "[deadlock]") {
  Waits waits;
  const std::size_t a = waits.row(0xa0, LockKind::monitor, 1), b = waits.row(0xb0, LockKind::monitor, 2);
  waits.wait(1, {b});
  SECTION("the owner waits for one of two objects") {
    const std::size_t other = waits.row(0xc0, LockKind::mutex, std::nullopt);
    waits.wait(2, {a, other}).any = true;
  }
  SECTION("the owner waits for nobody's event") {
    waits.wait(2, {waits.row(0xc0, LockKind::event, std::nullopt)});
  }
  SECTION("the owner waits for a lock whose owner is not known") {
    waits.wait(2, {waits.row(0xc0, LockKind::mutex, std::nullopt)});
  }
  CHECK(waits.deadlocks().empty());
}

TEST_CASE("all of several objects are needed", "[deadlock]") {
  Waits waits;
  const std::size_t a = waits.row(0xa0, LockKind::monitor, 1), b = waits.row(0xb0, LockKind::monitor, 2);
  waits.wait(1, {b}).timeout_ms = 1'000;
  waits.wait(2, {waits.row(0xc0, LockKind::event, std::nullopt), a});
  const auto found = waits.deadlocks();
  REQUIRE(found.size() == 1);
  CHECK(found[0].ends);
}

TEST_CASE("readers keep a writer out, but not the one that asks for more", "[deadlock]") {
  Waits waits;
  const std::size_t rw = waits.row(0xa0, LockKind::rwlock, 1), a = waits.row(0xb0, LockKind::monitor, 1);
  waits.table.locks[rw].readers = {{.os_id = 1, .managed_id = {}}, {.os_id = 2, .managed_id = {}}, {}};
  waits.wait(1, {rw}, WaitMode::write);
  CHECK(waits.deadlocks().empty());
  waits.wait(2, {a});
  const auto found = waits.deadlocks();
  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == DeadlockKind::rwlock);
  CHECK(Waits::threads(found[0]) == std::vector<std::uint64_t>{1, 2});
}

TEST_CASE("a constructor of a class is never certain", "[deadlock]") {
  Waits waits;
  const std::size_t init = waits.row(0xa0, LockKind::class_init, 1),
                    b = waits.row(0xb0, LockKind::monitor, 2);
  waits.wait(1, {b});
  waits.wait(2, {init});
  const auto found = waits.deadlocks();
  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == DeadlockKind::class_init);
  CHECK_FALSE(found[0].certain);
}

TEST_CASE("tasks lead from a thread to the thread that runs them", "[deadlock]") {
  Waits waits;
  const std::size_t lock = waits.row(0xa0, LockKind::monitor, 1),
                    task = waits.row(0xb0, LockKind::task, std::nullopt);
  waits.wait(1, {task});
  waits.wait(2, {lock});
  const auto found = waits.deadlocks(
      {{.task = 0xb0, .tasks = {0xc0}, .threads = {}}, {.task = 0xc0, .tasks = {}, .threads = {2}}});
  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == DeadlockKind::mixed);
  CHECK(found[0].members.size() == 4);
  CHECK(Waits::threads(found[0]) == std::vector<std::uint64_t>{1, 2});
}

TEST_CASE("a pool is starved when all of its workers wait for tasks, and work is queued", "[deadlock]") {
  Waits waits;
  const std::size_t task = waits.row(0xa0, LockKind::task, std::nullopt);
  waits.wait(1, {task}).kind = LockKind::task;
  waits.wait(2, {task}).kind = LockKind::task;
  std::vector<RuntimeThread> threads(2);
  for (RuntimeThread& thread : threads) {
    thread.state = thread_state::pool_worker;
    waits.table.stacks.push_back({.thread = &thread, .frames = {}, .roots = {}});
  }
  CHECK_FALSE(find_pool_deadlock(waits.table, {.queued = 0, .existing = 2, .maximum = 2}));
  const auto starved = find_pool_deadlock(waits.table, {.queued = 5, .existing = 2, .maximum = 2});
  REQUIRE(starved);
  CHECK(starved->kind == DeadlockKind::pool);
  CHECK(Waits::threads(*starved) == std::vector<std::uint64_t>{1, 2});
  CHECK_FALSE(starved->ends);
  CHECK(find_pool_deadlock(waits.table, {.queued = 5, .existing = 2, .maximum = 8})->ends);
  waits.table.waits[1].what = ThreadWait::What::running;
  CHECK_FALSE(find_pool_deadlock(waits.table, {.queued = 5, .existing = 2, .maximum = 2}));
}

TEST_CASE("workers that wait for locks and signals starve a pool probably, with much work queued",
          "[deadlock]") {
  Waits waits;
  waits.wait(1, {waits.row(0xa0, LockKind::countdown, std::nullopt)}).kind = LockKind::countdown;
  waits.wait(2, {waits.row(0xb0, LockKind::monitor, 9)});
  std::vector<RuntimeThread> threads(2);
  for (RuntimeThread& thread : threads) {
    thread.state = thread_state::pool_worker;
    waits.table.stacks.push_back({.thread = &thread, .frames = {}, .roots = {}});
  }
  const auto starved = find_pool_deadlock(waits.table, {.queued = 2, .existing = 2, .maximum = 2});
  REQUIRE(starved);
  CHECK_FALSE(starved->certain);
  CHECK_FALSE(starved->ends);
  CHECK(Waits::threads(*starved) == std::vector<std::uint64_t>{1, 2});
  // One item may be taken by the next worker that is free.
  CHECK_FALSE(find_pool_deadlock(waits.table, {.queued = 1, .existing = 2, .maximum = 2}));
  waits.table.waits[0].objects.clear();
  CHECK_FALSE(find_pool_deadlock(waits.table, {.queued = 5, .existing = 2, .maximum = 2}));
}

TEST_CASE("a knot of very many tasks has all of them as members, and what each holds", "[deadlock]") {
  constexpr std::size_t length = 200'000;
  std::vector<TaskWait> tasks;
  for (std::size_t i = 0; i < length; ++i)
    tasks.push_back({.task = 8 * i, .tasks = {8 * ((i + 1) % length)}, .threads = {}});
  const auto found = find_deadlocks({}, wait_edges({}, tasks));
  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == DeadlockKind::async);
  REQUIRE(found[0].members.size() == length);
  CHECK(std::ranges::all_of(found[0].members, [](const DeadlockMember& m) { return m.holds.size() == 1; }));
}

TEST_CASE("the waits of many writers for many readers are bounded, and said to be", "[deadlock]") {
  Waits waits;
  const std::size_t row = waits.row(0xa0, LockKind::rwlock, std::nullopt);
  constexpr std::uint64_t many = 750;
  for (std::uint64_t i = 0; i < many; ++i) {
    waits.table.locks[row].readers.push_back({.os_id = 1'000'000 + i, .managed_id = {}});
    waits.wait(i + 1, {row}, WaitMode::write);
  }
  const WaitEdges edges = wait_edges(waits.table);
  CHECK(edges.left_out);
  CHECK(edges.reasons.size() == max_wait_edges);
  CHECK(edges.graph.edges().size() == max_wait_edges);
}

TEST_CASE("a thread that joins itself waits for itself", "[deadlock]") {
  Waits waits;
  waits.wait(5, {waits.row(0x90, LockKind::thread, 5)});
  waits.wait(6, {waits.row(0xa0, LockKind::thread, 7)});
  const auto found = waits.deadlocks();
  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == DeadlockKind::locks);
  CHECK(Waits::threads(found[0]) == std::vector<std::uint64_t>{5});
  CHECK(found[0].cycle == 1);
}

TEST_CASE("what ends when the callback of a timer returns leads to the thread that runs it", "[deadlock]") {
  Waits waits;
  const std::size_t method = waits.row(0x70, LockKind::task, std::nullopt);
  waits.wait(1, {method});
  // The method waits for the end of the timer.
  const std::vector<TaskWait> tasks = {{.task = 0x70, .tasks = {0x80}, .threads = {}}};
  CHECK(waits.deadlocks(tasks).empty());
  waits.table.enders = {{0x80, 1}, {0x99, 1}};
  const auto itself = waits.deadlocks(tasks);
  REQUIRE(itself.size() == 1);
  CHECK(itself[0].kind == DeadlockKind::async);
  CHECK_FALSE(itself[0].certain);
  CHECK(Waits::threads(itself[0]) == std::vector<std::uint64_t>{1});
  // Nobody waits for the other one.
  for (const Node& node : wait_edges(waits.table, tasks).graph.nodes()) CHECK(node.id != 0x99);
  // The callback wants the lock of who waits for the timer.
  waits.table.enders = {{0x80, 2}};
  waits.wait(2, {waits.row(0xa0, LockKind::monitor, 1)});
  const auto two = waits.deadlocks(tasks);
  REQUIRE(two.size() == 1);
  CHECK(two[0].kind == DeadlockKind::mixed);
  CHECK(Waits::threads(two[0]) == std::vector<std::uint64_t>{1, 2});
}
