#include "tests/stack/runtime_builder.h"

#include "core/stack/threads.h"

using namespace clr;
using namespace clr::test;

namespace {

constexpr Address store = 0x2000, first = 0x10000, second = 0x20000;

void add_thread(StackMemory& memory, Address at, std::uint32_t id, std::uint64_t os_id, Address next_link) {
  for (Address word = 0; word < 400; word += 8) memory.u64(at + word, 0);
  memory.u32(at + 0, 0x0200'0200); // background, waiting
  memory.u32(at + 4, id == 1 ? 1 : 0);
  memory.u64(at + 8, 0x7000 + id);
  memory.u32(at + 16, id);
  memory.u64(at + 112, next_link);
  memory.u64(at + 120, 0x9000'0000);
  memory.u64(at + 128, 0x8000'0000);
  memory.u64(at + 296, os_id);
  memory.u64(at + 352, 0x600 + id);
}

void add_list(StackMemory& memory) {
  memory.u64(0x1000, store);
  memory.u64(0x1008, 0x5000);
  memory.u64(store + 88, first + 112);
  add_thread(memory, first, 1, 4711, second + 112);
  add_thread(memory, second, 2, 4712, 0);
}

// A managed Thread object with a name, as the handle of `thread`.
void add_name(StackMemory& memory, Address thread) {
  memory.u64(thread + 304, 0x3000);
  memory.u64(0x3000, 0x4000);
  memory.u64(0x4000, 0x5100);
  memory.u64(0x4000 + 24, 0x4100);
  memory.u64(0x4000 + 40, thread);
  memory.u64(0x4100, 0x5000 | 1); // a mark bit of the GC
  memory.u32(0x4100 + 8, 3);
  memory.bytes(0x4100 + 12, {'h', 0, 0xE9, 0, 'j', 0});
}

} // namespace

TEST_CASE("the Thread list is read in its order with every field") {
  StackMemory memory;
  add_list(memory);
  add_name(memory, second);
  const Target target(memory, runtime_descriptor(Cpu::x64), {});
  const ThreadList list = read_threads(target);
  CHECK(list.problem.empty());
  REQUIRE(list.threads.size() == 2);
  const RuntimeThread& one = list.threads[0];
  CHECK(one.address == first);
  CHECK(one.managed_id == 1u);
  CHECK(one.os_id == 4711u);
  CHECK(one.cooperative == true);
  CHECK(one.frame == 0x7001);
  CHECK(one.exception_tracker == 0x601);
  CHECK(one.stack_base == 0x9000'0000u);
  CHECK(one.stack_limit == 0x8000'0000u);
  CHECK_FALSE(one.name);
  CHECK(one.fault.empty());
  CHECK(list.threads[1].cooperative == false);
  CHECK(list.threads[1].name == "h\xC3\xA9j");
  CHECK(state_words(*one.state) == std::vector<std::string>{"background", "wait_sleep_join"});
}

TEST_CASE("a name is believed only of the object that points back to its thread") {
  StackMemory memory;
  add_list(memory);
  add_name(memory, second);
  memory.u64(0x4000 + 40, first);
  const ThreadList list = read_threads(Target(memory, runtime_descriptor(Cpu::x64), {}));
  REQUIRE(list.threads.size() == 2);
  CHECK_FALSE(list.threads[1].name);
}

TEST_CASE("a runtime that has not started has no threads") {
  StackMemory memory;
  memory.u64(0x1000, 0);
  const ThreadList list = read_threads(Target(memory, runtime_descriptor(Cpu::x64), {}));
  CHECK(list.threads.empty());
  CHECK(list.problem.empty());
}

TEST_CASE("a looping or torn list keeps what stands before the damage and says what it is") {
  StackMemory memory;
  add_list(memory);
  SECTION("loop") {
    memory.u64(second + 112, first + 112);
    const ThreadList list = read_threads(Target(memory, runtime_descriptor(Cpu::x64), {}));
    CHECK(list.threads.size() == 2);
    CHECK(list.problem == "the list of threads comes back to 0x10070");
  }
  SECTION("missing thread") {
    memory.erase(second, 400);
    const ThreadList list = read_threads(Target(memory, runtime_descriptor(Cpu::x64), {}));
    CHECK(list.threads.size() == 1);
    CHECK(list.problem == "the list of threads is torn: memory at 0x20070 is not available");
  }
  SECTION("missing field") {
    memory.erase(first + 296, 8);
    const ThreadList list = read_threads(Target(memory, runtime_descriptor(Cpu::x64), {}));
    REQUIRE(list.threads.size() == 2);
    CHECK_FALSE(list.threads[0].os_id);
    CHECK(list.threads[0].fault == "memory at 0x10128 is not available");
    CHECK(list.threads[0].managed_id == 1u);
    CHECK(list.problem.empty());
  }
}

TEST_CASE("whichever read fails, no field of a thread is invented") {
  StackMemory memory;
  add_list(memory);
  add_name(memory, second);
  const ContractDescriptor descriptor = runtime_descriptor(Cpu::x64);
  const Target target(memory, descriptor, {});
  const ThreadList whole = read_threads(target);
  const std::size_t reads = memory.reads;
  for (std::size_t k = 0; k < reads; ++k) {
    INFO("read " << k << " fails");
    memory.reads = 0;
    memory.fail_at = k;
    ThreadList list;
    try {
      list = read_threads(target);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::memory_missing);
      continue;
    }
    REQUIRE(list.threads.size() <= whole.threads.size());
    for (std::size_t i = 0; i < list.threads.size(); ++i) {
      CHECK((!list.threads[i].os_id || list.threads[i].os_id == whole.threads[i].os_id));
      CHECK((!list.threads[i].managed_id || list.threads[i].managed_id == whole.threads[i].managed_id));
      CHECK((!list.threads[i].name || list.threads[i].name == whole.threads[i].name));
      CHECK((list.threads[i].frame == 0 || list.threads[i].frame == whole.threads[i].frame));
    }
  }
}
