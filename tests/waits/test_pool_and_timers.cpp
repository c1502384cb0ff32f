// The thread pool and the timers, also of damaged lists.
#include "core/waits/thread_pool.h"
#include "core/waits/timers.h"
#include "tests/objects/framework_types.h"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace clr;
using namespace clr::test;

namespace {

struct Process {
  ObjectRuntime made{Platform{}};
  FrameworkTypes types{made};

  Address timer(std::uint64_t set_at, std::uint32_t due, std::uint32_t period, Address next) {
    return types.make("TimerQueueTimer",
                      {{"_startTicks", set_at}, {"_dueTime", due}, {"_period", period}, {"_next", next}});
  }
};

} // namespace

TEST_CASE("timers of all lists, the one that is due first at first", "[timers]") {
  Process process;
  const Address last = process.timer(1'000, 9'000, 0xffff'ffff, 0);
  const Address first = process.timer(2'000, 100, 500, process.timer(1'500, 0xffff'ffff, 0xffff'ffff, 0));
  const Address queue = process.types.make("TimerQueue", {{"_shortTimers", first}, {"_longTimers", last}});
  ObjectView view(process.made);
  const Timers timers = read_timers(view.objects, process.types.objects({0, queue}));
  REQUIRE(timers.timers.size() == 2);
  CHECK(timers.timers[0].object == first);
  CHECK(timers.timers[0].period_ms == 500u);
  CHECK(timers.timers[1].object == last);
  CHECK(timers.timers[1].due_ms == 9'000);
  CHECK_FALSE(timers.timers[1].period_ms);
  CHECK(timers.reached == 2'000u);
  CHECK(timers.problems.empty());
}

TEST_CASE("a ring of timers ends, and a torn list costs itself", "[timers]") {
  Process process;
  const Address ring = process.timer(1, 10, 0, 0);
  process.made.memory.at(process.types.place("TimerQueueTimer", ring, "_next")).pointer(ring);
  const Address torn = process.timer(2, 20, 0, 0x6666'0000);
  const Address queue = process.types.make("TimerQueue", {{"_shortTimers", ring}, {"_longTimers", torn}});
  ObjectView view(process.made);
  const Timers timers = read_timers(view.objects, process.types.objects({queue}));
  CHECK(timers.timers.size() == 2);
  CHECK(timers.problems.size() == 2);
}

TEST_CASE("timers share the text of the type of their states", "[timers]") {
  Process process;
  Address next = 0;
  for (int i = 0; i < 3; ++i) {
    next = process.timer(1, 10, 0, next);
    process.types.set("TimerQueueTimer", process.made.fields_of(next), "_state",
                      process.types.make("Task+DelayPromise", {}));
  }
  const Address queue = process.types.make("TimerQueue", {{"_shortTimers", next}});
  ObjectView view(process.made);
  const Timers timers = read_timers(view.objects, process.types.objects({queue}));
  REQUIRE(timers.timers.size() == 3);
  CHECK_THAT(timers.timers[0].state_type.str(), Catch::EndsWith("DelayPromise"));
  CHECK(&timers.timers[0].state_type.str() == &timers.timers[2].state_type.str());
}

TEST_CASE("the pool's numbers, and what threads have queued for themselves", "[thread_pool]") {
  Process process;
  const Address pool = process.types.make("PortableThreadPool", {{"_minThreads", 3}});
  process.types.set("Counts", process.types.place("PortableThreadPool", pool, "_separated"), "_data",
                    0x0006'0005'0004);
  const Address a = process.made.instance(process.made.dog_type, 8),
                b = process.made.instance(process.made.dog_type, 8);
  // From place 3 on: the ring goes on at its beginning.
  const Address good =
      process.types.make("WorkStealingQueue", {{"m_array", process.types.objects({b, 0, 0, a})},
                                               {"m_mask", 3},
                                               {"m_headIndex", 3},
                                               {"m_tailIndex", 5}});
  const Address wrong = process.types.make("WorkStealingQueue", {{"m_array", process.types.objects({a})},
                                                                 {"m_mask", 0},
                                                                 {"m_headIndex", 0},
                                                                 {"m_tailIndex", 0x7fff'ffff}});
  ObjectView view(process.made);
  const ThreadPoolState state = read_thread_pool(
      view.objects, {.pool = pool, .queue = a, .local = process.types.objects({wrong, good, 0x6666'0000})});
  CHECK(state.processing == 4u);
  CHECK(state.existing == 5u);
  CHECK(state.goal == 6u);
  CHECK(state.minimum == 3u);
  CHECK_FALSE(state.maximum);
  REQUIRE(state.items.size() == 2);
  CHECK(state.items[0].object == a);
  CHECK(state.items[1].object == b);
  CHECK(state.items[0].queue == PoolQueue::local);
  CHECK(state.problems.size() == 2);
}

TEST_CASE("a queue whose mask leads to fewer places than it has items is refused", "[thread_pool]") {
  Process process;
  // One empty place, which four milliards of items would lead to.
  const Address array = process.types.objects({0});
  process.made.memory.write_integer(array + 8, 0xffff'ffff, 4);
  const auto queue = [&](std::uint32_t mask) {
    return process.types.make("WorkStealingQueue",
                              {{"m_array", array}, {"m_mask", mask}, {"m_headIndex", 2}, {"m_tailIndex", 0}});
  };
  ObjectView view(process.made);
  const ThreadPoolState state = read_thread_pool(
      view.objects, {.queue = 1, .local = process.types.objects({queue(0), queue(1), queue(0xffff'ffff)})});
  CHECK(state.items.empty());
  CHECK_FALSE(state.left_out);
  CHECK(std::ranges::count_if(state.problems, [](const std::string& problem) {
          return problem.find("more items than places") != std::string::npos;
        }) == 3);
}

TEST_CASE("empty places of all queues of the pool count together", "[thread_pool]") {
  Process process;
  const Address a = process.made.instance(process.made.dog_type, 8);
  const Address queue =
      process.types.make("WorkStealingQueue", {{"m_array", process.types.objects({0, a, 0, 0})},
                                               {"m_mask", 3},
                                               {"m_headIndex", 0},
                                               {"m_tailIndex", 4}});
  const Address queues = process.types.objects({queue, queue, queue});
  const auto read = [&](std::size_t slots) {
    ObjectView view(process.made);
    return read_thread_pool(view.objects, {.local = queues}, slots);
  };
  CHECK(read(12).items.size() == 3);
  CHECK_FALSE(read(12).left_out);
  CHECK(read(7).items.size() == 2);
  CHECK(read(7).left_out);
  CHECK(read(4).items.size() == 1);
  CHECK(read(4).left_out);
}

TEST_CASE("parts of shared queues count as places, and problems are told a few times", "[thread_pool]") {
  Process process;
  // Parts without an item that lead back to the first one.
  const Address ring =
      process.types.make("Segment", {{"_slots", process.types.structures("Slot", 1)}, {"_slotsMask", 0}});
  process.types.set("Segment", process.made.fields_of(ring), "_nextSegment", ring);
  const Address endless = process.types.make("ConcurrentQueue`1", {{"_head", ring}});
  const auto read = [&](std::size_t slots) {
    ObjectView view(process.made);
    return read_thread_pool(
        view.objects,
        {.queue = process.types.make("ThreadPoolWorkQueue", {{"_assignableWorkItemQueues",
                                                              process.types.objects({endless, endless})}})},
        slots);
  };
  const ThreadPoolState all = read(max_pool_slots);
  CHECK(all.problems.size() == 2);
  CHECK_FALSE(all.left_out);
  CHECK(read(100).problems.size() == 1);
  CHECK(read(100).left_out);
  // Nothing that can be read at all.
  const Address many = process.made.array(process.made.objects_type, 60, 60 * 8);
  for (std::uint32_t i = 0; i < 60; ++i)
    process.made.memory.write_integer(process.made.elements_of(many) + Address{i} * 8, 0x6666'0000, 8);
  ObjectView view(process.made);
  CHECK(read_thread_pool(view.objects, {.local = many}).problems.size() == max_pool_problems);
}
