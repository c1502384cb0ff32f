// What kind of trouble it is, by what threads do.
#include "core/waits/verdict.h"

#include <catch2/catch.hpp>

#include <array>

using namespace clr;

namespace {

struct Process {
  // Threads with code of the user's, but for number 1, which is the main one.
  Process& add(ThreadWait::What what, LockKind kind = LockKind::monitor, std::uint32_t managed_id = 5,
               bool user = true) {
    threads[count].managed_id = managed_id;
    table.stacks.push_back({.os_id = 100 + count, .thread = &threads[count], .frames = {}, .roots = {}});
    ThreadWait wait{.os_id = 100 + count, .what = what, .objects = {}, .kind = kind, .native = {}};
    wait.managed_frame = 3;
    if (user) wait.user_frame = 4;
    table.waits.push_back(std::move(wait));
    ++count;
    return *this;
  }
  Verdict verdict(const VerdictFacts& facts = {}) const { return decide(facts, thread_uses(table)).front(); }

  std::array<RuntimeThread, 8> threads;
  std::size_t count = 0;
  LockTable table;
};

using What = ThreadWait::What;

} // namespace

TEST_CASE("a process that waits for its user is healthy", "[verdict]") {
  CHECK(Process().verdict() == Verdict::healthy);
  CHECK(Process().add(What::native, LockKind::monitor, 1).verdict() == Verdict::healthy);
  CHECK(Process().add(What::objects, LockKind::task, 1).verdict() == Verdict::healthy);
  CHECK(Process().add(What::idle, LockKind::monitor, 5, false).verdict() == Verdict::healthy);
  CHECK(Process().add(What::sleep).add(What::objects, LockKind::event).verdict() == Verdict::healthy);
  CHECK(Process().add(What::native, LockKind::monitor, 5, false).verdict() == Verdict::healthy);
}

TEST_CASE("who waits for a lock, a task or the system waits", "[verdict]") {
  CHECK(Process().add(What::objects, LockKind::lock).verdict() == Verdict::waiting);
  CHECK(Process().add(What::objects, LockKind::task).verdict() == Verdict::waiting);
  CHECK(Process().add(What::objects, LockKind::callback).verdict() == Verdict::waiting);
  CHECK(Process().add(What::objects, LockKind::finalizers).verdict() == Verdict::waiting);
  CHECK(Process().add(What::native).verdict() == Verdict::waiting);
  CHECK(Process().verdict({.waiting_chains = 3}) == Verdict::waiting);
  Process request;
  request.add(What::objects, LockKind::event);
  request.table.waits.back().in_request = true;
  CHECK(request.verdict() == Verdict::waiting);
}

TEST_CASE("who waits for a thread that works makes a busy process", "[verdict]") {
  CHECK(Process().add(What::running, LockKind::monitor, 1).verdict() == Verdict::busy);
  CHECK(Process().add(What::running).add(What::objects, LockKind::lock).verdict() == Verdict::busy);
  CHECK(Process().add(What::running).add(What::native).verdict() == Verdict::waiting);
}

TEST_CASE("the gravest comes first, and the others are told", "[verdict]") {
  Process process;
  process.add(What::objects, LockKind::lock);
  const std::vector<Verdict> all =
      decide({.crashed = true, .out_of_memory = true, .starved = true, .deadlocked = true},
             thread_uses(process.table));
  CHECK(all == std::vector{Verdict::crash, Verdict::deadlock, Verdict::memory, Verdict::starvation,
                           Verdict::waiting});
}

TEST_CASE("nothing known is no health", "[verdict]") {
  CHECK(Process().add(What::unknown).verdict() == Verdict::unknown);
}

TEST_CASE("a heap is near its limit before it is full", "[verdict]") {
  constexpr std::uint64_t limit = 200'000'000;
  const auto near = [](std::uint64_t committed, std::uint64_t survived) {
    return is_near_limit({.limit = limit, .committed = committed, .survived = survived});
  };
  // As it was measured when an allocation failed, and right before.
  CHECK(near(178'000'000, 176'000'000));
  CHECK(near(180'000'000, 172'000'000));
  CHECK(near(170'000'000, 168'000'000));
  CHECK_FALSE(near(169'000'000, 168'000'000));
  // Garbage and free memory fill a healthy heap, too.
  CHECK_FALSE(near(190'000'000, 110'000'000));
  CHECK_FALSE(near(199'000'000, 159'000'000));
  CHECK_FALSE(is_near_limit({}));
}
