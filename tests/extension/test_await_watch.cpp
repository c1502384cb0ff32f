// Steps that follow a state machine from thread to thread.
#include "extension/breakpoints/await_watch.h"
#include "tests/extension/fake_plants.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::lldb_plugin;

namespace {
constexpr std::uint64_t first = 7, second = 8;
constexpr Address stack = 0x7000, table = 0x100, on_stack = 0x7100, boxed = 0x9008, task = 0x9000,
                  other_task = 0x9900, other = 0x9908;

struct Machines final : AwaitWatch::Machines {
  std::map<Address, StateMachine> all;
  std::set<Address> done; // tasks
  std::optional<AwaitWatch::Running> then;
  std::vector<AwaitWatch::Body> compiled;

  std::optional<StateMachine> read(Address of, Address self) override {
    const auto found = all.find(self);
    if (found == all.end() || found->second.table != of) return std::nullopt;
    return found->second;
  }
  bool is_done(const StateMachine& machine) override { return done.contains(machine.task); }
  std::optional<AwaitWatch::Running> continuation(const StateMachine&) override { return then; }
  std::vector<AwaitWatch::Body> bodies(const AwaitWatch::Body& body) override {
    std::vector<AwaitWatch::Body> found = compiled;
    found.push_back(body);
    return found;
  }
};

struct Thread final : AwaitWatch::Visitor {
  std::uint64_t id = first;
  Address at = 0, top = 0, frame = stack, first_argument = 0, own = 0;
  std::vector<AwaitWatch::Line> rows;
  std::vector<std::uint64_t> ended;
  unsigned followed = 0;

  std::uint64_t thread() override { return id; }
  Address pc() override { return at; }
  Address sp() override { return top; }
  Address cfa() override { return frame; }
  Address argument() override { return first_argument; }
  Address self() override { return own; }
  std::vector<AwaitWatch::Line> lines() override { return rows; }
  void end_steps(std::uint64_t thread) override { ended.push_back(thread); }
  void follow_exceptions() override { ++followed; }
};

// A method with two awaits, on its lines 20 and 21, that a thread runs for the first time.
struct Async {
  FakePlants plants;
  Machines machines;
  AwaitWatch watch{plants, machines};
  Thread thread;

  Async() {
    machines.all[on_stack] = {.table = table, .self = on_stack, .task = 0, .state = -1};
    thread.rows = {{0x1000, 19}, {0x1010, 20}, {0x1040, 0}, {0x1048, 20}, {0x1050, 21}, {0x1090, 22}};
  }
  AwaitWatch::Step step(bool out = false) {
    AwaitWatch::Step made;
    made.thread = first;
    made.out = out;
    made.body = {0x1000, {{0x1020, 0x1040}, {0x1060, 0x1080}}};
    made.machine = machines.all.at(on_stack);
    made.cfa = stack;
    made.line = 20;
    made.has_caller = true;
    return made;
  }
  bool hit(Address at) {
    thread.at = at;
    return watch.hit(thread);
  }
  // It waits at its first await, and is called again by `id` as the machine at `self`.
  bool called_again(std::uint64_t id, Address self) {
    thread.id = id;
    thread.top = 0x8000;
    thread.first_argument = self;
    return hit(0x1000);
  }
  void wait() {
    thread.own = on_stack;
    CHECK_FALSE(hit(0x1020));
    machines.all[on_stack].task = task;
    machines.all[boxed] = {.table = table, .self = boxed, .task = task, .state = 0};
    machines.all[other] = {.table = table, .self = other, .task = other_task, .state = 0};
  }
};
} // namespace

TEST_CASE("a step goes on behind the await on the thread that resumes the method", "[await_watch]") {
  Async async;
  async.watch.arm(async.step());
  CHECK(async.plants.stops() == std::set<Address>{0x1020, 0x1060});
  async.wait();
  CHECK(async.thread.ended == std::vector<std::uint64_t>{first});

  CHECK_FALSE(async.called_again(second, boxed));
  async.thread.frame = 0x8008;
  CHECK_FALSE(async.hit(0x1040));
  CHECK(async.thread.followed == 1);
  CHECK(async.plants.stops().contains(0x1050));
  CHECK_FALSE(async.hit(0x1048)); // the rest of its line
  CHECK(async.hit(0x1050));
}

TEST_CASE("other runs of the method, threads and frames are no end of a step", "[await_watch]") {
  Async async;
  async.watch.arm(async.step());
  async.thread.id = second;
  CHECK_FALSE(async.hit(0x1020));
  async.thread.id = first;
  async.thread.frame = 0x6F00; // called by itself
  CHECK_FALSE(async.hit(0x1020));
  async.thread.frame = stack;
  async.wait();
  CHECK_FALSE(async.called_again(second, other));
  async.thread.frame = 0x8008;
  CHECK_FALSE(async.hit(0x1040));
  CHECK_FALSE(async.plants.stops().contains(0x1050));
  async.machines.all[boxed].state = -1; // a call that is not behind an await
  CHECK_FALSE(async.called_again(second, boxed));
  CHECK_FALSE(async.hit(0x1040));
  CHECK_FALSE(async.plants.stops().contains(0x1050));
}

TEST_CASE("a step ends behind the second await of a line", "[await_watch]") {
  Async async;
  async.watch.arm(async.step());
  async.wait();
  async.called_again(second, boxed);
  async.thread.frame = 0x8008;
  async.hit(0x1040);
  async.thread.own = boxed;
  CHECK_FALSE(async.hit(0x1060));
  async.machines.all[boxed].state = 1;
  CHECK_FALSE(async.called_again(first, boxed));
  async.thread.frame = 0x8008;
  CHECK_FALSE(async.hit(0x1080));
  CHECK(async.hit(0x1090));
}

TEST_CASE("a step out ends where the awaiting method goes on", "[await_watch]") {
  Async async;
  async.watch.arm(async.step(true));
  async.wait();
  const StateMachine caller{.table = 0x200, .self = 0xA008, .task = 0xA000, .state = 0};
  async.machines.all[caller.self] = caller;
  async.machines.then = AwaitWatch::Running{caller, {{0x3000, {{0x3020, 0x3040}}}}};
  async.called_again(second, boxed);
  async.thread.frame = 0x8008;
  CHECK_FALSE(async.hit(0x1040));
  CHECK_FALSE(async.plants.stops().contains(0x1090));

  async.thread.top = 0x8100;
  async.thread.first_argument = caller.self;
  CHECK_FALSE(async.hit(0x3000)); // it waits for something else
  async.machines.done.insert(task);
  CHECK_FALSE(async.hit(0x3000));
  async.thread.frame = 0x8108;
  async.thread.rows = {{0x3000, 30}, {0x3044, 31}, {0x3050, 32}};
  CHECK_FALSE(async.hit(0x3040));
  CHECK(async.hit(0x3044));
}

TEST_CASE("a method without a caller on the stack ends in the one that awaits it", "[await_watch]") {
  Async async;
  const StateMachine caller{.table = 0x200, .self = 0xA008, .task = 0xA000, .state = 0};
  async.machines.then = AwaitWatch::Running{caller, {{0x3000, {{0x3020, 0x3040}}}}};
  async.watch.arm(async.step());
  CHECK_FALSE(async.watch.leaves_nowhere());
  CHECK_FALSE(async.plants.stops().contains(0x3000));
  AwaitWatch::Step step = async.step();
  step.has_caller = false;
  async.watch.arm(step);
  CHECK(async.watch.leaves_nowhere());
  CHECK(async.plants.stops() == std::set<Address>{0x1020, 0x1060, 0x3000});
}

TEST_CASE("a step that has ended follows nothing", "[await_watch]") {
  Async async;
  async.watch.arm(async.step());
  async.watch.end_step();
  CHECK_FALSE(async.hit(0x1020));
  CHECK(async.thread.ended.empty());
  async.watch.disarm();
  CHECK(async.plants.stops().empty());
  async.watch.forget();
  CHECK(async.plants.at.empty());
}
