// What threads wait for, by the methods and objects of their stacks.
#include "core/waits/lock_table.h"
#include "tests/objects/framework_types.h"
#include "tests/support/lending_reader.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

constexpr std::uint64_t os_id = 4711;
constexpr Address native_code = 0x5000'0100, user_code = 0x6000'0000;

// A thread whose stack is made by hand: native code that waits in the kernel, methods of the framework, and
// at last one of the user's.
struct Stack {
  Stack() : runtime({.pointer_size = 8, .cpu = Cpu::x64, .os = Os::unix_like}), types(runtime) {
    own = types.make("Thread", {{"_DONT_USE_InternalThread", 0x100}});
    threads.threads.push_back(
        {.address = 0x100, .managed_id = 2, .os_id = os_id, .cooperative = false, .managed_object = own});
    stack.os_id = os_id;
    bottom = runtime.memory.allocate(words * 8);
    stack.frames.push_back({});
    in_kernel({0xb8, 0xca, 0, 0, 0, 0x0f, 0x05}); // futex
  }

  void in_kernel(std::initializer_list<unsigned> code) {
    runtime.memory.at(native_code - code.size()).bytes(code);
    place(stack.frames[0], native_code, 0);
  }
  void place(StackFrame& frame, Address pc, unsigned word) const {
    frame.registers = RegisterContext(Cpu::x64);
    frame.registers.set_pc(pc);
    frame.registers.set_sp(bottom + 8 * word);
  }
  // The next frame, a method called "Space.Type.Name", which holds these objects.
  Stack& calls(std::string_view space, std::string_view type, std::string_view name,
               const std::vector<Address>& holds = {}) {
    const bool framework = space.starts_with("System");
    MetadataBuilder metadata;
    metadata.assembly(framework ? "System.Private.CoreLib" : "app");
    metadata.type(space, type);
    metadata.method(name, bytes_of({0, 0, 1}));
    const Address module =
        runtime.runtime.module({.path = framework ? "/fx/System.Private.CoreLib.dll" : "/app/app.dll",
                                .metadata = metadata.build()});
    StackFrame frame;
    frame.kind = StackFrameKind::managed;
    frame.code = CodeBlock{.method_desc = runtime.runtime.method(
                               runtime.runtime.type({.module = module, .rid = 2}), {.rid = 1})};
    place(frame, user_code, static_cast<unsigned>(4 * stack.frames.size()));
    FrameRoots roots{.frame = stack.frames.size()};
    for (const Address object : holds) {
      StackRoot root;
      root.value = object;
      roots.roots.push_back(root);
    }
    stack.frames.push_back(std::move(frame));
    stack.roots.push_back(std::move(roots));
    return *this;
  }
  // A word between the stack pointers of this frame and the next one.
  void word(unsigned frame, Address value) { runtime.memory.at(bottom + 8 * (4 * frame + 1)).pointer(value); }

  LockTable table() {
    stack.thread = &threads.threads[0];
    ObjectView view(runtime);
    return read_lock_table(view.objects, view.names, nullptr, {}, threads, {stack});
  }
  ThreadWait wait() { return table().waits.at(0); }
  // As many threads that stand alike, with what is known of an empty heap. Counts the reads.
  LockTable table_of(std::size_t count) {
    stack.thread = &threads.threads[0];
    LendingReader counted(runtime.memory);
    ObjectView view(runtime, counted);
    HeapTypes heap_types(view.target);
    TypeLineages lineages(view.names.types());
    const HeapMap map;
    HeapPass pass(map, heap_types, lineages);
    LockIndex index(pass);
    const LockTable found = read_lock_table(view.objects, view.names, &index, {}, threads,
                                            std::vector<ThreadStack>(count, stack));
    reads = counted.reads();
    return found;
  }

  static constexpr unsigned words = 64;
  ObjectRuntime runtime;
  FrameworkTypes types;
  Address own = 0, bottom = 0;
  ThreadList threads;
  ThreadStack stack;
  std::size_t reads = 0;
};

std::vector<Address> objects_of(const ThreadWait& wait) {
  std::vector<Address> objects;
  for (const WaitedObject& object : wait.objects) objects.push_back(object.object);
  return objects;
}

constexpr std::string_view threading = "System.Threading";

} // namespace

TEST_CASE("a thread that joins another one holds both", "[blocked_threads]") {
  Stack stack;
  const Address other = stack.types.make("Thread", {{"_DONT_USE_InternalThread", 0x200}});
  stack.calls(threading, "Thread", "Join", {stack.own, other}).calls("App", "Work", "Run");
  const ThreadWait wait = stack.wait();
  CHECK(wait.kind == LockKind::thread);
  CHECK(objects_of(wait) == std::vector{other});
}

TEST_CASE("a thread that joins itself holds no other one", "[blocked_threads]") {
  Stack stack;
  stack.calls(threading, "Thread", "Join", {stack.own}).calls("App", "Work", "Run");
  SECTION("nothing else is in sight") {
    const LockTable table = stack.table();
    CHECK(objects_of(table.waits.at(0)) == std::vector{stack.own});
    const LockRow* const row = table.find({stack.own, LockKind::thread});
    REQUIRE(row != nullptr);
    CHECK(row->owner->os_id == os_id);
  }
  SECTION("a word of the stack is another thread") {
    const Address other = stack.types.make("Thread", {{"_DONT_USE_InternalThread", 0x200}});
    stack.word(0, other);
    CHECK(objects_of(stack.wait()) == std::vector{other});
  }
  SECTION("frames may be missing, and with them the one that holds it") {
    stack.stack.gaps = true;
    CHECK(stack.wait().kind == LockKind::thread);
    CHECK(objects_of(stack.wait()).empty());
  }
}

TEST_CASE("a thread that joins what it does not hold waits for one that is not known", "[blocked_threads]") {
  Stack stack;
  stack.calls(threading, "Thread", "Join").calls("App", "Work", "Run");
  CHECK(stack.wait().kind == LockKind::thread);
  CHECK(objects_of(stack.wait()).empty());
}

TEST_CASE("who disposes a registration waits for the thread that runs its callback", "[blocked_threads]") {
  Stack stack;
  const Address registrations =
      stack.types.make("CancellationTokenSource+Registrations", {{"ThreadIDExecutingCallbacks", 2}});
  constexpr std::string_view type = "CancellationTokenSource+Registrations",
                             method = "WaitForCallbackToComplete";
  SECTION("the frame holds it") {
    stack.calls(threading, type, method, {stack.own, registrations}).calls("App", "Work", "Run");
    const LockTable table = stack.table();
    CHECK(objects_of(table.waits.at(0)) == std::vector{registrations});
    CHECK(table.waits.at(0).certain);
    CHECK(table.find({registrations, LockKind::callback})->owner->os_id == os_id);
  }
  SECTION("it is a word of the stack") {
    stack.calls(threading, type, method).calls("App", "Work", "Run");
    stack.word(0, registrations);
    CHECK(objects_of(stack.wait()) == std::vector{registrations});
    CHECK_FALSE(stack.wait().certain);
  }
}

TEST_CASE("who waits for finalizers waits for no object that is known", "[blocked_threads]") {
  Stack stack;
  stack.calls("System", "GC", "WaitForPendingFinalizers").calls("App", "Work", "Run");
  CHECK(stack.wait().what == ThreadWait::What::objects);
  CHECK(stack.wait().kind == LockKind::finalizers);
  CHECK_FALSE(stack.wait().certain);
}

TEST_CASE("what a timer owes is ended by the thread that runs its callback", "[blocked_threads]") {
  Stack stack;
  const Address ended = stack.types.make("Task", {});
  const Address timer = stack.types.make("TimerQueueTimer", {{"_notifyWhenNoCallbacksRunning", ended}});
  stack.calls(threading, "Thread", "Join", {stack.own}).calls("App", "Work", "Callback");
  stack.calls(threading, "TimerQueueTimer", "CallCallback", {timer});
  CHECK(stack.table().enders == std::map<Address, std::uint64_t>{{ended, os_id}});
}

TEST_CASE("a loop that spins runs", "[blocked_threads]") {
  Stack stack;
  SECTION("in user code") {
    stack.calls(threading, "SpinWait", "SpinOnceCore").calls("App", "Work", "Run");
    CHECK(stack.wait().what == ThreadWait::What::running);
  }
  SECTION("by giving up the processor") {
    stack.calls(threading, "Thread", "Yield").calls("App", "Work", "Run");
    CHECK(stack.wait().what == ThreadWait::What::running);
  }
  SECTION("by a sleep, which on .NET 11 is managed code") {
    stack.calls(threading, "WaitSubsystem+ThreadWaitInfo", "Sleep").calls(threading, "Thread", "Sleep");
    stack.calls(threading, "SpinWait", "SpinOnceCore").calls("App", "Work", "Run");
    CHECK(stack.wait().what == ThreadWait::What::running);
  }
  SECTION("in a lock of the framework, before it waits") {
    stack.calls(threading, "SpinWait", "SpinOnceCore").calls("System.Threading", "Other", "Enter");
    stack.calls("App", "Work", "Run");
    CHECK(stack.wait().what != ThreadWait::What::running);
  }
}

TEST_CASE("a primitive of the framework that spins waits already", "[blocked_threads]") {
  Stack stack;
  const Address barrier = stack.types.make("Barrier", {{"_currentTotalCount", 3}});
  stack.calls(threading, "SpinWait", "SpinOnceCore").calls(threading, "ManualResetEventSlim", "Wait");
  stack.calls(threading, "Barrier", "SignalAndWait", {barrier}).calls("App", "Work", "Run");
  const ThreadWait wait = stack.wait();
  CHECK(wait.what == ThreadWait::What::objects);
  CHECK(wait.kind == LockKind::barrier);
  CHECK(objects_of(wait) == std::vector{barrier});
  CHECK_FALSE(wait.timeout_ms);
}

TEST_CASE("a sleep of no time is none", "[blocked_threads]") {
  Stack stack;
  stack.calls(threading, "Thread", "Sleep").calls("App", "Work", "Run");
  CHECK(stack.wait().what == ThreadWait::What::sleep);
  stack.in_kernel({0xb8, 24, 0, 0, 0, 0x0f, 0x05}); // sched_yield
  CHECK(stack.wait().what == ThreadWait::What::running);
}

TEST_CASE("a stack with gaps does not tell that native code was called", "[blocked_threads]") {
  Stack stack;
  stack.calls("App", "Work", "Run");
  CHECK(stack.wait().what == ThreadWait::What::native);
  CHECK(stack.wait().native == "App.Work.Run()");
  stack.stack.gaps = true;
  CHECK(stack.wait().what == ThreadWait::What::unknown);
}

TEST_CASE("waiters of a semaphore in a ring are in no line, and each is looked at once",
          "[blocked_threads]") {
  Stack stack;
  constexpr std::string_view type = "SemaphoreSlim+TaskNode#prev";
  const Address first = stack.types.make(type, {}), second = stack.types.make(type, {{"Prev", first}});
  stack.types.set(type, stack.runtime.fields_of(first), "Prev", second);
  stack.calls(threading, "SpinWait", "SpinOnceCore");
  stack.calls("System.Threading.Tasks", "Task", "SpinThenBlockingWait", {second}).calls("App", "Work", "Run");
  const LockTable table = stack.table_of(20);
  CHECK(table.waits.back().kind == LockKind::task);
  CHECK(objects_of(table.waits.back()) == std::vector{second});
  CHECK(stack.reads < 1'000);
}

TEST_CASE("words of stacks that are no objects are looked at once", "[blocked_threads]") {
  Stack stack;
  stack.calls(threading, "Thread", "Join").calls("App", "Work", "Run");
  // Each word leads to an object of its own; all have the same wrong type.
  const Address wrong = stack.runtime.memory.allocate(256);
  for (unsigned i = 1; i < 8; ++i) {
    const Address object = stack.runtime.memory.allocate(8);
    stack.runtime.memory.at(object).pointer(wrong);
    stack.runtime.memory.at(stack.bottom + 8 * i).pointer(object);
  }
  stack.table_of(1);
  const std::size_t once = stack.reads;
  const LockTable table = stack.table_of(101);
  CHECK(objects_of(table.waits.back()).empty());
  CHECK(table.waits.back().kind == LockKind::thread);
  // One for the words, and one for each object of them.
  CHECK(stack.reads <= once + 100 * (1 + 7));
  for (const std::string& problem : table.problems) CHECK(problem.find("too many") == std::string::npos);
}
