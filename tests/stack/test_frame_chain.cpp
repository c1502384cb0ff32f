#include "tests/stack/runtime_builder.h"

#include "core/stack/frame_chain.h"

using namespace clr;
using namespace clr::test;

namespace {

constexpr Address end_of_chain = ~Address{0};

// Identifiers as runtime_builder.h numbers them.
constexpr std::uint64_t inlined_call = 1, resumable = 2, redirected = 3, faulting = 4, software = 5,
                        func_eval = 6, hijack = 8, prestub = 9, stub_dispatch = 11, u2m = 17;

void add_frame(StackMemory& memory, Address at, std::uint64_t identifier, Address next) {
  for (Address word = 0; word < 512; word += 8) memory.u64(at + word, 0);
  memory.u64(at, identifier);
  memory.u64(at + 8, next);
}

// A CONTEXT with all general registers: register n of the machine numbering holds base + n.
void add_x64_context(StackMemory& memory, Address at, std::uint64_t base, Address pc, Address sp) {
  for (Address word = 0; word < 0x100; word += 8) memory.u64(at + word, 0);
  memory.u32(at + 0x30, 0x0010'0003); // control, integer
  for (unsigned n = 0; n < 16; ++n) memory.u64(at + 0x78 + 8 * n, base + n);
  memory.u64(at + 0x98, sp);
  memory.u64(at + 0xF8, pc);
}

ExplicitFrame only_frame(const FrameChain& chain, Address at) {
  const FrameChain::Result result = chain.read(at, std::nullopt, std::nullopt);
  REQUIRE(result.frames.size() == 1);
  CHECK(result.problem.empty());
  return result.frames[0];
}

} // namespace

TEST_CASE("the chain is read to its terminator, kinds by the descriptor's identifiers") {
  StackMemory memory;
  add_frame(memory, 0x7000, inlined_call, 0x7800);
  add_frame(memory, 0x7800, 99, 0x8000);
  add_frame(memory, 0x8000, u2m, end_of_chain);
  const Target target(memory, runtime_descriptor(Cpu::x64), {});
  const FrameChain chain(target);
  const FrameChain::Result result = chain.read(0x7000, 0x6000, 0x9000);
  CHECK(result.problem.empty());
  REQUIRE(result.frames.size() == 3);
  CHECK(result.frames[0].kind == FrameKind::inlined_call);
  CHECK(result.frames[1].kind == FrameKind::unknown);
  CHECK(result.frames[1].identifier == 99);
  CHECK(to_string(result.frames[2].kind) == "DebuggerU2MCatchHandlerFrame");
  CHECK(result.frames[2].address == 0x8000);
}

TEST_CASE("a chain that loops, leaves the stack or is torn ends with a reason") {
  StackMemory memory;
  add_frame(memory, 0x7000, inlined_call, 0x7800);
  const Target target(memory, runtime_descriptor(Cpu::x64), {});
  const FrameChain chain(target);
  SECTION("loop") {
    add_frame(memory, 0x7800, inlined_call, 0x7000);
    CHECK(chain.read(0x7000, {}, {}).frames.size() == 2);
    CHECK(chain.read(0x7000, {}, {}).problem == "the Frame chain is corrupt: 0x7000 follows 0x7800");
  }
  SECTION("odd address") {
    add_frame(memory, 0x7800, inlined_call, 0x7FFF);
    CHECK(chain.read(0x7000, {}, {}).problem == "the Frame chain is corrupt: 0x7fff follows 0x7800");
  }
  SECTION("outside") {
    add_frame(memory, 0x7800, inlined_call, 0x9000);
    CHECK(chain.read(0x7000, 0x6000, 0x9000).problem ==
          "the Frame chain leaves the stack of its thread: 0x9000");
  }
  SECTION("torn") {
    CHECK(chain.read(0x7000, {}, {}).frames.size() == 1);
    CHECK(chain.read(0x7000, {}, {}).problem == "the Frame chain is torn: memory at 0x7800 is not available");
  }
  SECTION("null") {
    CHECK(chain.read(0, {}, {}).frames.empty());
    CHECK(chain.read(0, {}, {}).problem == "the Frame chain is corrupt: 0x0 follows 0x0");
  }
}

TEST_CASE("an InlinedCallFrame restores pc, sp and fp while its call is active") {
  StackMemory memory;
  add_frame(memory, 0x7000, inlined_call, end_of_chain);
  const Target target(memory, runtime_descriptor(Cpu::x64), {});
  const FrameChain chain(target);
  const ExplicitFrame frame = only_frame(chain, 0x7000);
  CHECK_FALSE(chain.active(frame));
  CHECK_FALSE(chain.context(frame));
  CHECK_FALSE(chain.method_desc(frame));
  memory.u64(0x7000 + 16, 0xAB'0008);
  memory.u64(0x7000 + 24, 0x6FF0);
  memory.u64(0x7000 + 32, 0x40'1234);
  memory.u64(0x7000 + 40, 0x7100);
  CHECK(chain.active(frame));
  const auto context = chain.context(frame);
  REQUIRE(context);
  CHECK(context->registers.pc() == 0x40'1234u);
  CHECK(context->registers.sp() == 0x6FF0u);
  CHECK(context->registers.fp() == 0x7100u);
  CHECK_FALSE(context->registers.known(x64_register::rbx));
  CHECK_FALSE(context->leaf);
  CHECK(chain.method_desc(frame) == 0xAB'0008u);
  SECTION("the low bits of the datum say that it is no method") {
    memory.u64(0x7000 + 16, 0xAB'0009);
    CHECK_FALSE(chain.method_desc(frame));
    memory.u64(0x7000 + 16, 2);
    CHECK_FALSE(chain.method_desc(frame));
    memory.u64(0x7000 + 16, 0);
    CHECK_FALSE(chain.method_desc(frame));
  }
}

TEST_CASE("Frames with a CONTEXT restore all of it") {
  StackMemory memory;
  const Target target(memory, runtime_descriptor(Cpu::x64), {});
  const FrameChain chain(target);
  const auto expect = [&](Address at, Address pc, bool leaf) {
    const auto context = chain.context(only_frame(chain, at));
    REQUIRE(context);
    CHECK(context->registers.pc() == pc);
    CHECK(context->registers.sp() == 0x8000u);
    CHECK(context->registers.get(x64_register::rbx) == 0x5503);
    CHECK(context->registers.get(x64_register::rbp) == 0x5505);
    CHECK(context->registers.get(x64_register::r15) == 0x550F);
    CHECK(context->leaf == leaf);
  };
  SECTION("faulting: the instruction that failed") {
    add_frame(memory, 0x7000, faulting, end_of_chain);
    add_x64_context(memory, 0x7000 + 32, 0x5500, 0x40'2000, 0x8000);
    expect(0x7000, 0x40'2000, true);
  }
  SECTION("software exception: the pc is the Frame's own return address") {
    add_frame(memory, 0x7000, software, end_of_chain);
    memory.u64(0x7000 + 16, 0x40'3000);
    add_x64_context(memory, 0x7000 + 288, 0x5500, 0, 0x8000);
    expect(0x7000, 0x40'3000, false);
  }
  SECTION("resumable and redirected: by pointer") {
    const std::uint64_t identifier = GENERATE(resumable, redirected);
    INFO("identifier " << identifier);
    add_frame(memory, 0x7000, identifier, end_of_chain);
    memory.u64(0x7000 + 16, 0x9000);
    add_x64_context(memory, 0x9000, 0x5500, 0x40'4000, 0x8000);
    expect(0x7000, 0x40'4000, true);
  }
  SECTION("func eval, unless it runs during an exception") {
    add_frame(memory, 0x7000, func_eval, end_of_chain);
    memory.u64(0x7000 + 24, 0x9000);
    add_x64_context(memory, 0x9000, 0x5500, 0x40'5000, 0x8000);
    memory.bytes(0x9000 + 3358, {0});
    expect(0x7000, 0x40'5000, false);
    memory.bytes(0x9000 + 3358, {1});
    CHECK_FALSE(chain.context(only_frame(chain, 0x7000)));
  }
}

TEST_CASE("transition Frames restore the callee-saved registers of their block") {
  StackMemory memory;
  SECTION("x64") {
    add_frame(memory, 0x7000, GENERATE(prestub, stub_dispatch), end_of_chain);
    memory.u64(0x7000 + 16, 0x7400);
    memory.u64(0x7000 + 24, 0xAB'0010);
    for (unsigned n = 0; n < 6; ++n) memory.u64(0x7400 + 48 + 8 * n, 0x100 + n); // r12 r13 r14 r15 rbx rbp
    memory.u64(0x7400 + 96, 0x40'6000);
    const Target target(memory, runtime_descriptor(Cpu::x64), {});
    const FrameChain chain(target);
    const ExplicitFrame frame = only_frame(chain, 0x7000);
    const auto context = chain.context(frame);
    REQUIRE(context);
    CHECK(context->registers.pc() == 0x40'6000u);
    CHECK(context->registers.sp() == 0x7400u + 104);
    CHECK(context->registers.get(x64_register::r12) == 0x100);
    CHECK(context->registers.get(x64_register::rbx) == 0x104);
    CHECK(context->registers.get(x64_register::rbp) == 0x105);
    CHECK(chain.method_desc(frame) == 0xAB'0010u);
  }
  SECTION("arm64: the return address is the saved lr") {
    add_frame(memory, 0x7000, prestub, end_of_chain);
    memory.u64(0x7000 + 16, 0x7400);
    for (unsigned n = 0; n < 12; ++n) memory.u64(0x7400 + 8 * n, 0x100 + n); // fp lr x19..x28
    memory.u64(0x7400 + 8, 0x40'6000);
    const Target target(memory, runtime_descriptor(Cpu::arm64), {});
    const FrameChain chain(target);
    const auto context = chain.context(only_frame(chain, 0x7000));
    REQUIRE(context);
    CHECK(context->registers.pc() == 0x40'6000u);
    CHECK(context->registers.sp() == 0x7400u + 176);
    CHECK(context->registers.fp() == 0x100u);
    CHECK(context->registers.get(arm64_register::x19) == 0x102);
    CHECK(context->registers.get(arm64_register::x28) == 0x10B);
  }
}

TEST_CASE("a HijackFrame restores what the trampoline pushed") {
  StackMemory memory;
  add_frame(memory, 0x7000, hijack, end_of_chain);
  memory.u64(0x7000 + 16, 0x40'7000);
  memory.u64(0x7000 + 32, 0x7400);
  for (unsigned n = 0; n < 6; ++n) memory.u64(0x7400 + 24 + 8 * n, 0x200 + n);
  const Target target(memory, runtime_descriptor(Cpu::x64), {});
  const FrameChain chain(target);
  const auto context = chain.context(only_frame(chain, 0x7000));
  REQUIRE(context);
  CHECK(context->registers.pc() == 0x40'7000u);
  CHECK(context->registers.sp() == 0x7400u + 80);
  CHECK(context->registers.get(x64_register::r15) == 0x203);
  CHECK(context->leaf);
}

TEST_CASE("a Frame whose memory is missing is a fault that names the address") {
  StackMemory memory;
  add_frame(memory, 0x7000, prestub, end_of_chain);
  memory.u64(0x7000 + 16, 0xDEAD'0000);
  const Target target(memory, runtime_descriptor(Cpu::x64), {});
  const FrameChain chain(target);
  const ExplicitFrame frame = only_frame(chain, 0x7000);
  CHECK_THROWS_WITH(chain.context(frame), Catch::Contains("0xdead0050"));
}
