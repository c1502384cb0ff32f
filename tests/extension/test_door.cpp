// The way in from LLDB: one at a time, no exception out, lost turns told.
#include "core/memory/error.h"
#include "extension/door/door.h"

#include <catch2/catch.hpp>

#include <atomic>
#include <condition_variable>
#include <new>
#include <thread>
#include <vector>

using namespace clr::lldb_plugin;
using namespace std::chrono_literals;

namespace {

struct Told {
  std::vector<std::string> all;
  Door::Tell tell() {
    return [this](std::string_view text) { all.emplace_back(text); };
  }
};

struct Unusual {};

// A thread that stays inside until it is let go.
class Occupant {
public:
  explicit Occupant(Door& door)
      : thread_([this, &door] {
          door.call(Way::command, [this](const Turn&) {
            std::unique_lock lock(mutex_);
            inside_ = true;
            changed_.notify_all();
            changed_.wait(lock, [this] { return done_; });
          });
        }) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return inside_; });
  }
  ~Occupant() {
    {
      const std::scoped_lock lock(mutex_);
      done_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool inside_ = false, done_ = false;
  std::thread thread_;
};

} // namespace

TEST_CASE("only one thread at a time is behind the door", "[door]") {
  Door door({}, 60s, {});
  // Neither an atomic nor a lock: the thread sanitizer sees two that get here at once, and the sum tells too.
  std::vector<int> visits;
  std::atomic<int> inside = 0, together = 0;
  constexpr int threads = 4, rounds = 500;
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&, t] {
      for (int i = 0; i < rounds; ++i) {
        const auto act = [&](const Turn&) {
          if (++inside != 1) ++together;
          visits.push_back(t);
          std::this_thread::yield();
          --inside;
          return true;
        };
        if (i % 2 == 0)
          door.pass(Way::summary, false, act);
        else
          door.call(Way::script, act);
      }
    });
  for (std::thread& thread : all) thread.join();
  CHECK(together == 0);
  CHECK(visits.size() == threads * rounds);
  CHECK(door.troubles().unhandled == 0);
}

TEST_CASE("who is inside may come in again", "[door]") {
  Door door({}, 1ms, {});
  const int depth = door.call(Way::command, [&](const Turn& turn) {
    return turn.door().call(Way::stop_hook, [&](const Turn& inner) {
      return inner.door().pass(Way::compile_hook, 0, [](const Turn&) { return 3; });
    });
  });
  CHECK(depth == 3);
}

TEST_CASE("a turn that is lost is told and counted", "[door]") {
  Told told;
  Door door(told.tell(), 1ms, {});
  bool ran = false;
  {
    const Occupant occupant(door);
    for (int i = 0; i < 2; ++i)
      CHECK(door.pass(Way::compile_hook, 7, [&](const Turn&) {
        ran = true;
        return 1;
      }) == 7);
    CHECK_THROWS_WITH(door.call(Way::command, [&](const Turn&) { ran = true; }),
                      "another command of lldb-clr is running");
  }
  CHECK_FALSE(ran);
  CHECK(door.troubles().lost_turns == 3);
  CHECK(door.troubles().unhandled == 2); // the third was told to its caller
  REQUIRE(told.all.size() == 1);
  CHECK(told.all[0] == "a call of LLDB's (compile_hook) was not handled: another command of lldb-clr is "
                       "running; clr publish status counts such calls");
  CHECK(door.pass(Way::compile_hook, 7, [](const Turn&) { return 1; }) == 1);
}

TEST_CASE("no exception of a callback gets out", "[door]") {
  Told told;
  Door door(told.tell(), 1s, {});
  const auto pass = [&](Way way, const auto& thrown) {
    return door.pass(way, 5, [&](const Turn&) -> int { throw thrown; });
  };
  CHECK(pass(Way::summary, std::bad_alloc()) == 5);
  CHECK(pass(Way::override, clr::Error(clr::ErrorKind::corrupt, "a torn table")) == 5);
  CHECK(pass(Way::override, clr::Error(clr::ErrorKind::corrupt, "another")) == 5);
  CHECK(pass(Way::handler_stop, Unusual{}) == 5);
  CHECK(door.troubles().unhandled == 4);
  REQUIRE(told.all.size() == 3); // once for each way
  CHECK(told.all[0].find("(summary) was not handled: out of memory") != std::string::npos);
  CHECK(told.all[1].find("(override) was not handled: a torn table") != std::string::npos);
  CHECK(told.all[2].find("(handler_stop) was not handled: unknown failure") != std::string::npos);
  CHECK(door.troubles().last == told.all[2]);
  CHECK(door.pass(Way::summary, 5, [](const Turn&) { return 6; }) == 6); // and the lock was let go
}

TEST_CASE("one who cannot be told does no harm", "[door]") {
  Door door([](std::string_view) { throw std::bad_alloc(); }, 1s, {});
  CHECK(door.pass(Way::summary, 5, [](const Turn&) -> int { throw Unusual{}; }) == 5);
  CHECK(door.troubles().unhandled == 1);
}

TEST_CASE("exceptions reach who shows them himself", "[door]") {
  Told told;
  Door door(told.tell(), 1s, {});
  CHECK_THROWS_AS(door.call(Way::command, [](const Turn&) { throw Unusual{}; }), Unusual);
  CHECK(told.all.empty());
  CHECK(door.troubles().unhandled == 0);
}

TEST_CASE("faults on purpose", "[door]") {
  const auto thrown_at = [](const char* plan, Way way) -> std::string {
    try {
      FaultPlan::parse(plan).at(way);
      return "nothing";
    } catch (...) {
      return text_of(std::current_exception());
    }
  };
  CHECK(thrown_at("summary", Way::summary) == "out of memory");
  CHECK(thrown_at("summary:bad_alloc", Way::summary) == "out of memory");
  CHECK(thrown_at("compile_hook:error", Way::compile_hook) == "a fault that a test asked for");
  CHECK(thrown_at("stop_hook:other", Way::stop_hook) == "unknown failure");
  CHECK(thrown_at("summary", Way::script) == "nothing");
  for (const char* none : {"", "summar", "summary:", "summary:never", ":error", "summary:error:error"})
    for (std::size_t way = 0; way < way_count; ++way)
      CHECK(thrown_at(none, static_cast<Way>(way)) == "nothing");
  for (std::size_t way = 0; way < way_count; ++way)
    CHECK(thrown_at(std::string(to_string(static_cast<Way>(way))).c_str(), static_cast<Way>(way)) ==
          "out of memory");

  Door door({}, 1s, FaultPlan::parse("override:other"));
  bool ran = false;
  CHECK(door.pass(Way::override, 2, [&](const Turn&) {
    ran = true;
    return 1;
  }) == 2);
  CHECK_FALSE(ran);
}

TEST_CASE("doors are found as long as somebody holds them", "[door]") {
  Doors all;
  CHECK(all.find(1) == nullptr);
  auto first = std::make_shared<Door>(Door::Tell{});
  all.add(1, first);
  all.add(2, std::make_shared<Door>(Door::Tell{}));
  CHECK(all.find(1) == first);
  CHECK(all.find(2) == nullptr);
  first.reset();
  CHECK(all.find(1) == nullptr);
}

TEST_CASE("what needs no turn lets no exception out either", "[door]") {
  Doors all;
  Told told;
  auto door = std::make_shared<Door>(told.tell());
  all.add(4, door);
  const auto fail = []() -> bool { throw Unusual{}; };
  CHECK(shelter(all, 3, Way::summary, true, fail));
  CHECK(told.all.empty());
  CHECK(shelter(all, 4, Way::summary, true, fail));
  CHECK(told.all.size() == 1);
  CHECK(shelter(all, 4, Way::summary, 1, [] { return 2; }) == 2);
}

TEST_CASE("memory that runs out behind the door is an exception, also where the host lets it end the process",
          "[door]") {
  const std::new_handler mine = [] { throw Unusual(); }; // stands for LLDB's, which ends the process
  const std::new_handler before = std::set_new_handler(mine);
  Door outer({}, 60s, {}), inner({}, 60s, {});
  outer.call(Way::command, [&](const Turn&) {
    CHECK(std::get_new_handler() == nullptr); // then `new` throws bad_alloc
    inner.call(Way::summary, [](const Turn&) {});
    CHECK(std::get_new_handler() == nullptr);
  });
  CHECK(std::set_new_handler(before) == mine);
}
