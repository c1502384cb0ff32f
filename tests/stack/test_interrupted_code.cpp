#include "core/stack/interrupted_code.h"

#include "tests/stack/runtime_builder.h"

using namespace clr;
using namespace clr::test;

namespace {

constexpr Address thread_store = 0x2000, only_thread = 0x10000, chain_end = ~Address{0};
constexpr Address stack_low = 0x8000'0000, stack_high = 0x9000'0000;
constexpr std::uint64_t faulting_frame = 4, inlined_call_frame = 1;

// A thread whose newest Frame is at `frame`.
void add_thread(StackMemory& memory, Address frame, Address tracker) {
  memory.u64(0x1000, thread_store);
  memory.u64(thread_store + 88, only_thread + 112);
  for (Address word = 0; word < 400; word += 8) memory.u64(only_thread + word, 0);
  memory.u64(only_thread + 8, frame);
  memory.u64(only_thread + 120, stack_high);
  memory.u64(only_thread + 128, stack_low);
  memory.u64(only_thread + 352, tracker);
}

void add_frame(StackMemory& memory, Address at, std::uint64_t identifier, Address next) {
  for (Address word = 0; word < 512; word += 8) memory.u64(at + word, 0);
  memory.u64(at, identifier);
  memory.u64(at + 8, next);
}

void add_context(StackMemory& memory, Address at, Address pc, Address sp) {
  memory.u32(at + 0x30, 0x0010'0003); // control, integer
  for (unsigned n = 0; n < 16; ++n) memory.u64(at + 0x78 + 8 * n, 0x5500 + n);
  memory.u64(at + 0x98, sp);
  memory.u64(at + 0xF8, pc);
}

void add_fault(StackMemory& memory, Address at, Address pc, Address sp, Address next = chain_end) {
  add_frame(memory, at, faulting_frame, next);
  add_context(memory, at + 32, pc, sp);
}

InterruptedCodes all_in(StackMemory& memory) {
  return interrupted_codes(Target(memory, runtime_descriptor(Cpu::x64), {}));
}
// Where nothing is wrong.
std::vector<InterruptedCode> found_in(StackMemory& memory) {
  const InterruptedCodes all = all_in(memory);
  CHECK(all.problems.empty());
  return all.codes;
}

} // namespace

TEST_CASE("code that a fault interrupted is that of the FaultingExceptionFrames", "[stack]") {
  StackMemory memory;
  constexpr Address frame = stack_high - 0x4000;
  add_thread(memory, frame, 0x600);
  add_fault(memory, frame, 0x40'2000, frame + 0x1000, frame + 0x1800);
  add_frame(memory, frame + 0x1800, inlined_call_frame, frame + 0x2000);
  add_fault(memory, frame + 0x2000, 0x40'3000, frame + 0x3000);
  const auto found = found_in(memory);
  REQUIRE(found.size() == 2);
  CHECK(found[0].frame == frame);
  CHECK(found[0].registers.pc() == 0x40'2000u);
  CHECK(found[0].registers.sp() == frame + 0x1000);
  CHECK(found[0].registers.get(x64_register::rbx) == 0x5503);
  CHECK(found[0].on_same_stack());
  CHECK(found[1].registers.pc() == 0x40'3000u);
  CHECK(found[0] == found_in(memory)[0]);
  CHECK_FALSE(found[0] == found[1]);
}

TEST_CASE("only threads with an exception in flight, or that handle a stack overflow, are looked at",
          "[stack]") {
  StackMemory memory;
  constexpr Address frame = stack_high - 0x4000, other_stack = 0x7000'0000;
  SECTION("no exception") {
    add_thread(memory, frame, 0);
    add_fault(memory, frame, 0x40'2000, frame + 0x1000);
    CHECK(found_in(memory).empty());
  }
  SECTION("no Frame") {
    add_thread(memory, chain_end, 0);
    CHECK(found_in(memory).empty());
    add_thread(memory, chain_end, 0x600);
    CHECK(found_in(memory).empty());
  }
  SECTION("on another stack") {
    add_thread(memory, other_stack, 0);
    add_fault(memory, other_stack, 0x40'2000, stack_low + 0x1000);
    const auto found = found_in(memory);
    REQUIRE(found.size() == 1);
    CHECK_FALSE(found[0].on_same_stack());
  }
}

TEST_CASE("what is torn interrupts nothing, and is told", "[stack]") {
  StackMemory memory;
  constexpr Address frame = stack_high - 0x4000;
  add_thread(memory, frame, 0x600);
  add_fault(memory, frame, 0x40'2000, frame + 0x1000, frame + 0x2000);
  add_fault(memory, frame + 0x2000, 0x40'3000, frame + 0x3000);
  const auto problems = [&](std::size_t codes) {
    const InterruptedCodes all = all_in(memory);
    CHECK(all.codes.size() == codes);
    return all.problems;
  };
  using Texts = std::vector<std::string>;
  SECTION("a context that is missing") {
    memory.erase(frame + 32, 0x100);
    CHECK(problems(1) == Texts{"faults of the Thread at 0x10000: memory at 0x8fffc020 is not available"});
  }
  SECTION("a chain that is torn") {
    memory.erase(frame + 0x2000, 512);
    CHECK(problems(1) == Texts{"faults of the Thread at 0x10000: the Frame chain is torn: memory at "
                               "0x8fffe000 is not available"});
  }
  SECTION("a head that is missing") {
    memory.erase(only_thread + 8, 8);
    CHECK(problems(0) == Texts{"faults of the Thread at 0x10000: memory at 0x10008 is not available"});
  }
  SECTION("a list that loops") {
    memory.u64(only_thread + 112, only_thread + 112);
    CHECK(problems(2) == Texts{"faults of some threads: the list of threads comes back to 0x10070"});
  }
  SECTION("no list") {
    memory.erase(0x1000, 8);
    CHECK(problems(0) == Texts{"faults of threads: memory at 0x1000 is not available"});
  }
}

TEST_CASE("more faults than anyone has are told, and not described", "[stack]") {
  StackMemory memory;
  constexpr Address frame = 0x8000'1000;
  add_thread(memory, frame, 0x600);
  for (Address i = 0; i < max_interrupted_codes + 5; ++i)
    add_fault(memory, frame + i * 0x400, 0x40'2000, frame + i * 0x400 + 0x100,
              i == max_interrupted_codes + 4 ? chain_end : frame + (i + 1) * 0x400);
  const InterruptedCodes all = all_in(memory);
  CHECK(all.codes.size() == max_interrupted_codes);
  CHECK(all.problems == std::vector<std::string>{"faults of further threads: there are too many Frames"});
}
