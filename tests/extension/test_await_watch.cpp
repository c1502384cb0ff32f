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
  std::map<Address, std::uint32_t> marks; // by task
  bool marks_stick = true;

  std::optional<StateMachine> read(Address of, Address self) override {
    const auto found = all.find(self);
    if (found == all.end() || found->second.table != of) return std::nullopt;
    return found->second;
  }
  std::uint32_t mark(const StateMachine& machine, bool make) override {
    if (machine.task == 0 || !marks_stick) return 0;
    if (make && marks[machine.task] == 0) marks[machine.task] = static_cast<std::uint32_t>(marks.size());
    return marks[machine.task];
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
  Address at = 0, top = 0, frame = stack, first_argument = 0;
  std::map<Address, Address> frames; // CFA of a frame of MoveNext, and its machine
  std::vector<AwaitWatch::Line> rows, caller_rows;
  std::vector<std::uint64_t> left;
  unsigned followed = 0;

  std::uint64_t thread() override { return id; }
  Address pc() override { return at; }
  Address sp() override { return top; }
  Address cfa() override { return frame; }
  Address argument() override { return first_argument; }
  std::optional<Address> machine_of(std::uint64_t, Address of) override {
    const auto found = frames.find(of);
    return found == frames.end() ? std::nullopt : std::optional(found->second);
  }
  std::vector<AwaitWatch::Line> lines(Address of) override { return of < 0x3000 ? rows : caller_rows; }
  Address behind_call(Address slot) override { return slot + 0x100'000; }
  Address behind_calls(Address begin) override { return begin + 0x18; }
  void leave(std::uint64_t thread) override { left.push_back(thread); }
  void follow_exceptions() override { ++followed; }
};

// A method with two awaits, on its lines 20 and 21, that a thread runs for the first time.
struct Async {
  FakePlants passing, ends;
  Machines machines;
  AwaitWatch watch{passing, ends, machines};
  Thread thread;

  Async() {
    machines.all[on_stack] = {.table = table, .self = on_stack, .task = 0, .object = 0, .state = -1};
    thread.frames[stack] = on_stack;
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
    made.returned = 0x5000;
    return made;
  }
  bool hit(Address at) {
    thread.at = at;
    return watch.hit(thread);
  }
  // It is called again by `id` as the machine at `self`.
  bool called_again(std::uint64_t id, Address self) {
    thread.id = id;
    thread.top = 0x8000;
    thread.first_argument = self;
    return hit(0x1000);
  }
  // It waits at its first await: its value moves into a box behind that.
  void wait() {
    CHECK_FALSE(hit(0x1020));
    machines.all[on_stack].task = machines.all[on_stack].object = task;
    machines.all[boxed] = {.table = table, .self = boxed, .task = task, .object = task, .state = 0};
    machines.all[other] = {
        .table = table, .self = other, .task = other_task, .object = other_task, .state = 0};
  }
  // The frame of the thread that goes on with it.
  void in_body() {
    thread.frame = 0x8008;
    thread.frames = {{0x8008, boxed}};
  }
  // The thread is back in the caller.
  void returned() {
    thread.top = stack;
    CHECK_FALSE(hit(stack - 8 + 0x100'000));
    thread.frames.clear();
    machines.all.erase(on_stack); // the place on the stack is used again
  }
};
} // namespace

TEST_CASE("a step goes on behind the await on the thread that resumes the method", "[await_watch]") {
  Async async;
  async.watch.arm(async.step());
  CHECK(async.passing.stops() == std::set<Address>{0x1020, 0x1060});
  CHECK(async.passing.limits == std::map<Address, std::uint64_t>{{0x1020, first}, {0x1060, first}});
  async.wait();
  CHECK(async.thread.left == std::vector<std::uint64_t>{first});
  CHECK_FALSE(async.passing.limits.contains(0x1000)); // any thread may go on with it

  CHECK_FALSE(async.called_again(second, boxed));
  async.in_body();
  CHECK_FALSE(async.hit(0x1040));
  CHECK(async.thread.followed == 1);
  CHECK(async.ends.stops().contains(0x1050));
  CHECK_FALSE(async.hit(0x1048)); // the rest of its line
  CHECK(async.hit(0x1050));
}

TEST_CASE("whether a step is one out of the method is known behind the await, too", "[await_watch]") {
  Async async;
  async.watch.arm(async.step());
  CHECK_FALSE(async.watch.ends_outside());
  AwaitWatch::Step out = async.step();
  out.out = true;
  async.watch.arm(out);
  async.wait();
  CHECK_FALSE(async.called_again(second, boxed));
  async.in_body();
  CHECK_FALSE(async.hit(0x1040));
  CHECK(async.watch.ends_outside());
  async.watch.end_step();
  CHECK_FALSE(async.watch.ends_outside());
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
  async.in_body();
  CHECK_FALSE(async.hit(0x1040));
  CHECK_FALSE(async.ends.stops().contains(0x1050));
  async.machines.all[boxed].state = -1; // a call that is not behind an await
  CHECK_FALSE(async.called_again(second, boxed));
  CHECK_FALSE(async.hit(0x1040));
  CHECK_FALSE(async.ends.stops().contains(0x1050));
}

TEST_CASE("a machine is known again where it was moved to", "[await_watch]") {
  Async async;
  async.watch.arm(async.step());
  async.wait();
  async.returned();
  constexpr Address moved = 0x4008, moved_task = 0x4000;
  async.machines.all[moved] = {
      .table = table, .self = moved, .task = moved_task, .object = moved_task, .state = 0};
  async.machines.marks[moved_task] = async.machines.marks.at(task);
  // Another one was made where it was.
  async.machines.marks[task] = 0;
  CHECK_FALSE(async.called_again(second, boxed));
  async.in_body();
  CHECK_FALSE(async.hit(0x1040));
  CHECK_FALSE(async.ends.stops().contains(0x1050));
  CHECK_FALSE(async.called_again(second, moved));
  CHECK_FALSE(async.hit(0x1040));
  CHECK(async.hit(0x1050));
}

TEST_CASE("a machine that moves while it gets its task is known again", "[await_watch]") {
  Async async;
  constexpr Address made = 0x4108, moved = 0x4008, moved_task = 0x4000;
  AwaitWatch::Step step = async.step();
  step.machine = {.table = table, .self = made, .task = 0, .object = made, .state = -1};
  async.machines.all[made] = {.table = table, .self = made, .task = 0, .object = made, .state = 0};
  async.thread.frames = {{stack, made}};
  async.watch.arm(step);
  CHECK_FALSE(async.hit(0x1020));
  CHECK(async.machines.marks.empty());
  CHECK(async.passing.stops().contains(0x1038));
  async.machines.all.erase(made);
  async.machines.all[moved] = {
      .table = table, .self = moved, .task = moved_task, .object = moved, .state = 0};
  async.thread.frames = {{stack, moved}};
  CHECK_FALSE(async.hit(0x1038));
  CHECK(async.machines.marks.at(moved_task) == 1);
  async.thread.frames.clear();
  constexpr Address again = 0x5008;
  async.machines.all[again] = async.machines.all.at(moved);
  async.machines.all.erase(moved);
  CHECK_FALSE(async.called_again(second, again));
  async.thread.frame = 0x8008;
  async.thread.frames = {{0x8008, again}};
  CHECK_FALSE(async.hit(0x1040));
  CHECK(async.hit(0x1050));
}

TEST_CASE("a machine that cannot be marked is known by its place", "[await_watch]") {
  Async async;
  async.machines.marks_stick = false;
  async.watch.arm(async.step());
  async.wait();
  async.returned();
  CHECK_FALSE(async.called_again(second, other));
  async.in_body();
  CHECK_FALSE(async.hit(0x1040));
  CHECK_FALSE(async.called_again(second, boxed));
  async.in_body();
  CHECK_FALSE(async.hit(0x1040));
  CHECK(async.hit(0x1050));
}

TEST_CASE("a thread that has left a method without a caller is not followed through the runtime",
          "[await_watch]") {
  Async async;
  AwaitWatch::Step step = async.step();
  step.has_caller = false;
  async.watch.arm(step);
  async.thread.top = stack - 0x40; // a call of its own
  CHECK_FALSE(async.hit(0x5000));
  CHECK(async.thread.left.empty());
  async.thread.top = stack;
  CHECK_FALSE(async.hit(0x5000));
  CHECK(async.thread.left == std::vector<std::uint64_t>{first});
}

TEST_CASE("behind an await whose code is not known the lines themselves are waited for", "[await_watch]") {
  Async async;
  AwaitWatch::Step step = async.step();
  step.body.awaits[0].resume = 0;
  async.watch.arm(step);
  async.wait();
  CHECK_FALSE(async.called_again(second, boxed));
  async.in_body();
  CHECK(async.hit(0x1050));
}

TEST_CASE("a method that is compiled anew while it waits goes on with its new code", "[await_watch]") {
  Async async;
  CHECK(async.watch.waiting() == nullptr);
  async.watch.add({0x6000, {}}); // nothing waits
  async.watch.arm(async.step());
  CHECK(async.watch.waiting() == nullptr);
  async.wait();
  REQUIRE(async.watch.waiting() != nullptr);
  CHECK(async.watch.waiting()->start == 0x1000);
  async.watch.add({0x2000, {{0x2020, 0x2040}}});
  async.thread.id = second;
  async.thread.top = 0x8000;
  async.thread.first_argument = boxed;
  CHECK_FALSE(async.hit(0x2000));
  CHECK(async.watch.waiting() == nullptr);
  async.in_body();
  async.thread.rows = {{0x2000, 20}, {0x2050, 21}};
  CHECK_FALSE(async.hit(0x2040));
  CHECK(async.hit(0x2050));
}

TEST_CASE("a step ends behind the second await of a line", "[await_watch]") {
  Async async;
  async.watch.arm(async.step());
  async.wait();
  async.called_again(second, boxed);
  async.in_body();
  async.hit(0x1040);
  CHECK_FALSE(async.hit(0x1060));
  async.machines.all[boxed].state = 1;
  CHECK_FALSE(async.called_again(first, boxed));
  async.in_body();
  CHECK_FALSE(async.hit(0x1080));
  CHECK(async.hit(0x1090));
}

TEST_CASE("a step out ends where the awaiting method goes on", "[await_watch]") {
  Async async;
  async.watch.arm(async.step(true));
  async.wait();
  const StateMachine caller{.table = 0x200, .self = 0xA008, .task = 0xA000, .object = 0xA000, .state = 0};
  async.machines.all[caller.self] = caller;
  async.machines.then = AwaitWatch::Running{caller, {{0x3000, {{0x3020, 0x3040}}}}};
  async.called_again(second, boxed);
  async.in_body();
  CHECK_FALSE(async.hit(0x1040));
  CHECK_FALSE(async.ends.stops().contains(0x1090));

  async.thread.top = 0x8100;
  async.thread.first_argument = caller.self;
  CHECK_FALSE(async.hit(0x3000)); // it waits for another one, too, that was done first
  async.machines.done.insert(task);
  CHECK_FALSE(async.hit(0x3000));
  async.thread.frame = 0x8108;
  async.thread.frames = {{0x8108, caller.self}};
  async.thread.caller_rows = {{0x3000, 30}, {0x3044, 31}, {0x3050, 32}};
  CHECK_FALSE(async.hit(0x3040));
  CHECK(async.hit(0x3044));
}

TEST_CASE("a method without a caller on the stack ends in the one that awaits it", "[await_watch]") {
  Async async;
  const StateMachine caller{.table = 0x200, .self = 0xA008, .task = 0xA000, .object = 0xA000, .state = 0};
  async.machines.then = AwaitWatch::Running{caller, {{0x3000, {{0x3020, 0x3040}}}}};
  async.watch.arm(async.step());
  CHECK_FALSE(async.watch.leaves_nowhere());
  CHECK_FALSE(async.passing.stops().contains(0x3000));
  AwaitWatch::Step step = async.step();
  step.has_caller = false;
  async.watch.arm(step);
  CHECK(async.watch.leaves_nowhere());
  CHECK(async.passing.stops() == std::set<Address>{0x1020, 0x1060, 0x3000, 0x5000});
}

namespace {
// The same method, called by another async one, which has not come to its await when the method waits, goes
// on by another thread, and ends.
struct LateCaller : Async {
  static constexpr Address callers_frame = 0x7200, callers_table = 0x200, callers_box = 0xA008;
  StateMachine caller{
      .table = callers_table, .self = callers_box, .task = 0xA000, .object = 0xA000, .state = 0};

  // `out`: no lines of its own are stopped at.
  explicit LateCaller(bool out) {
    machines.all[callers_box] = caller;
    thread.caller_rows = {{0x3000, 30}, {0x3044, 31}, {0x3050, 32}};
    AwaitWatch::Step made = step(out);
    made.caller = AwaitWatch::Caller{
        .body = {0x3000, {{0x3020, 0x3040}}}, .table = callers_table, .cfa = callers_frame, .line = 30};
    watch.arm(made);
    wait();
    CHECK_FALSE(called_again(second, boxed));
    in_body();
    CHECK_FALSE(hit(0x1040));
  }
  // The thread of the caller, in its frame, comes to a place.
  bool caller_at(Address at) {
    thread.id = first;
    thread.frame = callers_frame;
    thread.frames[callers_frame] = callers_box;
    return hit(at);
  }
  // The step's thread is back in the runtime.
  void ends_of_method() {
    thread.id = second;
    thread.top = 0x8008;
    machines.done.insert(task);
    CHECK_FALSE(hit(0x8000 + 0x100'000));
    thread.frames.clear();
  }
  // The caller is called again by a third thread, and comes behind its await.
  bool caller_goes_on() {
    thread.id = 9;
    thread.top = 0x8100;
    thread.first_argument = callers_box;
    if (hit(0x3000)) return false;
    thread.frame = 0x8108;
    thread.frames = {{0x8108, callers_box}};
    return !hit(0x3040) && hit(0x3044);
  }
};
} // namespace

TEST_CASE("a caller that waits only when another thread went on is where a step out ends", "[await_watch]") {
  LateCaller late(true);
  CHECK(late.passing.limits.at(0x3020) == first);
  CHECK_FALSE(late.caller_at(0x3020));
  late.ends_of_method();
  CHECK(late.caller_goes_on());
}

TEST_CASE("a caller without a task is known again by that which it gets", "[await_watch]") {
  LateCaller late(true);
  late.machines.all[0x7300] = {
      .table = LateCaller::callers_table, .self = 0x7300, .task = 0, .object = 0, .state = -1};
  late.thread.id = first;
  late.thread.frame = LateCaller::callers_frame;
  late.thread.frames[LateCaller::callers_frame] = 0x7300;
  CHECK_FALSE(late.hit(0x3020));
  late.machines.all[0x7300].task = late.machines.all[0x7300].object = 0xA000;
  CHECK_FALSE(late.hit(0x3038));
  late.ends_of_method();
  CHECK(late.caller_goes_on());
}

TEST_CASE("a caller that waits between two steps is found by the second", "[await_watch]") {
  LateCaller late(false);
  CHECK(late.hit(0x1050));
  late.watch.end_step();
  late.watch.disarm();
  AwaitWatch::Step then = late.step();
  then.thread = second;
  then.machine = late.machines.all.at(boxed);
  then.cfa = 0x8008;
  then.line = 21;
  then.has_caller = false;
  then.returned = 0x8000 + 0x100'000;
  late.watch.arm(then);
  CHECK_FALSE(late.caller_at(0x3020));
  late.ends_of_method();
  CHECK(late.caller_goes_on());
}

TEST_CASE("a caller that finds the method done is stopped on its next line", "[await_watch]") {
  LateCaller late(false);
  CHECK_FALSE(late.caller_at(0x3044)); // it does something else first
  late.ends_of_method();
  late.thread.left.clear();
  CHECK(late.caller_at(0x3044));
  CHECK(late.thread.left == std::vector<std::uint64_t>{second});
}

TEST_CASE("a caller that does much before it waits is not stopped for each line of that", "[await_watch]") {
  LateCaller late(false);
  for (unsigned i = 1; i < AwaitWatch::max_early_lines; ++i) CHECK_FALSE(late.caller_at(0x3044));
  CHECK(late.ends.stops().contains(0x3044));
  CHECK_FALSE(late.caller_at(0x3044));
  CHECK_FALSE(late.ends.stops().contains(0x3044));
  CHECK(late.ends.stops().contains(0x1050)); // its own lines
  late.ends_of_method();
  CHECK(late.caller_at(0x3050));
}

TEST_CASE("what was left by a step is forgotten when the process runs without one", "[await_watch]") {
  LateCaller late(false);
  late.watch.disarm();
  late.watch.disarm();
  AwaitWatch::Step then = late.step();
  then.machine = late.machines.all.at(boxed);
  then.has_caller = false;
  late.watch.arm(then);
  CHECK_FALSE(late.passing.stops().contains(0x3020));
}

TEST_CASE("a method that has ended is not taken for another run by the same thread", "[await_watch]") {
  LateCaller late(false);
  late.ends_of_method();
  late.thread.frame = 0x8008;
  CHECK_FALSE(late.hit(0x1050));
}

TEST_CASE("a step of the debugger's own ends at a place that a step before has left", "[await_watch]") {
  Async async;
  async.watch.arm(async.step());
  async.wait();
  async.called_again(second, boxed);
  async.in_body();
  async.hit(0x1040); // makes the places of lines
  AwaitWatch::Step then = async.step();
  then.thread = second;
  then.cfa = 0x8008;
  then.line = 22;
  async.watch.arm(then);
  CHECK_FALSE(async.ends.stops().contains(0x1050));
  CHECK(async.hit(0x1050));
  CHECK_FALSE(async.hit(0x1090)); // its own line
  async.thread.id = first;
  CHECK_FALSE(async.hit(0x1050));
  async.thread.id = second;
  then.out = true;
  async.watch.arm(then);
  CHECK_FALSE(async.hit(0x1050));
}

TEST_CASE("a step that has ended follows nothing", "[await_watch]") {
  Async async;
  async.watch.arm(async.step());
  async.watch.end_step();
  CHECK_FALSE(async.hit(0x1020));
  CHECK(async.thread.left.empty());
  async.watch.disarm();
  CHECK(async.passing.stops().empty());
  async.watch.forget();
  CHECK(async.passing.at.empty());
  CHECK(async.ends.at.empty());
}
