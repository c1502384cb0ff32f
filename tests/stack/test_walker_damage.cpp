// Stacks that are torn, cut, looping or random: a walk always ends, says why, and never repeats a frame for
// ever.
#include "tests/stack/walker_runtime.h"

#include "tests/support/faults.h"

#include <map>
#include <random>
#include <set>
#include <tuple>

using namespace clr;
using namespace clr::test;
using Lines = std::vector<std::string>;

namespace {

// Native code over M3, a callback, native code over M2, a fault in M1, M0.
RegisterContext add_mixed_stack(WalkerRuntime& runtime) {
  runtime.frame(0x200, runtime.native_return);
  runtime.inlined_call(0x240, runtime.in(3), 0x200, runtime.at(0x640));
  runtime.frame(0x600, runtime.native_return);
  runtime.inlined_call(0x640, runtime.in(2), 0x600, runtime.at(0x800));
  runtime.faulting(0x800, runtime.in(1, 0x44), 0x1000);
  runtime.frame(0x1000, runtime.in(0));
  runtime.frame(0x1100, 0);
  return runtime.registers(runtime.native_code, 0x80);
}

const Lines mixed_stack{"N 50000000 @80 context leaf",    "InlinedCallFrame @240",
                        "M3+20 @200 runtime_frame",       "N 50000020 @300 unwind_info",
                        "InlinedCallFrame @640",          "M2+20 @600 runtime_frame",
                        "N 50000020 @700 unwind_info",    "FaultingExceptionFrame @800",
                        "M1+44 @1000 runtime_frame leaf", "M0+20 @1100 unwind_info"};

} // namespace

TEST_CASE("whichever read fails, a walk ends and invents no frame", "[walker][faults]") {
  const Cpu cpu = GENERATE(Cpu::x64, Cpu::arm64);
  const bool stays = GENERATE(false, true);
  WalkerRuntime runtime(cpu);
  const RegisterContext start = add_mixed_stack(runtime);
  const ContractDescriptor descriptor = runtime.execution.types().contract_descriptor();
  const std::uint64_t reads = for_each_failing_read(
      runtime.memory(),
      [&](MemoryReader& reader, std::uint64_t k) {
        CAPTURE(k, stays);
        const WalkedStack walked = runtime.walk(reader, descriptor, start);
        const Lines lines = runtime.lines(walked);
        if (k == 0) {
          CHECK(lines == mixed_stack);
          CHECK(walked.walk.end == WalkEnd::bottom);
        }
        REQUIRE(lines.size() <= mixed_stack.size() + 2);
        bool told = walked.walk.end == WalkEnd::failed || !walked.walk.notes.empty();
        for (const StackFrame& frame : walked.frames) {
          told = told || !frame.fault.empty();
          if (!frame.code) continue;
          // Every managed frame is one that is there, with its own method.
          const auto same = [&](const std::string& line) {
            const std::string got = runtime.line(frame);
            return line.substr(0, line.find(' ', line.find('@'))) ==
                   got.substr(0, got.find(' ', got.find('@')));
          };
          CAPTURE(runtime.line(frame));
          CHECK(std::any_of(mixed_stack.begin(), mixed_stack.end(), same));
          CHECK(frame.method_desc ==
                runtime.method_desc(static_cast<unsigned>((frame.pc() - WalkerRuntime::method(0)) / 0x200)));
        }
        if (walked.walk.end == WalkEnd::failed) CHECK_FALSE(walked.walk.reason.empty());
        if (lines != mixed_stack) CHECK(told);
      },
      stays);
  CHECK(reads > 40);
}

TEST_CASE("random words on the stack", "[walker][faults]") {
  const Cpu cpu = GENERATE(Cpu::x64, Cpu::arm64);
  std::map<WalkEnd, unsigned> ends;
  std::size_t managed = 0;
  WalkerRuntime runtime(cpu);
  const ContractDescriptor descriptor = runtime.execution.types().contract_descriptor();
  for (unsigned seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t limit) { return random() % limit; };
    const auto stack_word = [&] { return runtime.at(below(WalkerRuntime::stack_size / 8) * 8); };
    const auto word = [&]() -> std::uint64_t {
      switch (below(8)) {
      case 0:
        return random();
      case 1:
      case 2:
        return runtime.in(static_cast<unsigned>(below(4)), below(WalkerRuntime::method_size));
      case 3:
        return runtime.native_return;
      case 4:
        return below(24); // identifiers of Frames
      case 5:
        return ~std::uint64_t{0} - below(16);
      default:
        return stack_word();
      }
    };
    runtime.memory().at(WalkerRuntime::stack).fill(WalkerRuntime::stack_size);
    runtime.thread.frame = WalkerRuntime::end_of_chain;
    RegisterContext start = add_mixed_stack(runtime);
    for (std::uint64_t n = 1 + below(seed % 2 == 0 ? 40 : 2000); n != 0; --n)
      runtime.memory().at(stack_word()).u64(word());
    if (seed % 3 == 0) runtime.thread.frame = stack_word();
    if (seed % 5 == 0) start.set_pc(word());
    if (seed % 7 == 0) start.set_sp(word());
    if (seed % 11 == 0) start.set_fp(word());
    if (seed % 13 == 0) runtime.thread.state = thread_state::return_address_hijacked;

    const WalkedStack walked = runtime.walk(runtime.memory(), descriptor, start);
    ++ends[walked.walk.end];
    CHECK(walked.walk.end != WalkEnd::limit);
    CHECK((walked.walk.end == WalkEnd::bottom || !walked.walk.reason.empty()));
    // No more than the stack has words; a frame comes twice only where a fault changes the stack.
    CHECK(walked.frames.size() <= WalkerRuntime::stack_size / 8);
    std::map<std::tuple<StackFrameKind, Address, Address>, unsigned> seen;
    for (const StackFrame& frame : walked.frames) {
      managed += frame.code ? 1 : 0;
      const unsigned times = ++seen[{frame.kind, frame.pc(), frame.sp()}];
      CHECK(times <= (frame.kind == StackFrameKind::runtime ? 1u : 3u));
    }
  }
  // The damage leaves something to walk, and stops some walks.
  CHECK(managed > 400);
  CHECK(ends[WalkEnd::bottom] > 10);
  CHECK(ends[WalkEnd::failed] > 100);
}

TEST_CASE("a Frame chain that is cut or loops costs its own part only", "[walker][faults]") {
  const Cpu cpu = GENERATE(Cpu::x64, Cpu::arm64);
  WalkerRuntime runtime(cpu);
  const RegisterContext start = add_mixed_stack(runtime);
  SECTION("cut") {
    runtime.memory().at(runtime.at(0x648)).u64(0x10);
    const WalkedStack walked = runtime.walk(start);
    const Lines lines = runtime.lines(walked);
    REQUIRE(lines.size() >= 7);
    CHECK(Lines(lines.begin(), lines.begin() + 7) == Lines(mixed_stack.begin(), mixed_stack.begin() + 7));
    CHECK(walked.walk.end == WalkEnd::failed);
    REQUIRE(walked.walk.notes.size() == 1);
    CHECK_THAT(walked.walk.notes[0], Catch::Contains("the Frame chain is corrupt: 0x10"));
  }
  SECTION("looping") {
    runtime.memory().at(runtime.at(0x648)).u64(runtime.at(0x240));
    const WalkedStack walked = runtime.walk(start);
    CHECK(walked.frames.size() <= 8);
    CHECK(walked.walk.end == WalkEnd::failed);
    REQUIRE(walked.walk.notes.size() == 1);
    CHECK_THAT(walked.walk.notes[0], Catch::Contains("corrupt"));
  }
  SECTION("a Frame that cannot be read is noted once") {
    runtime.memory().at(runtime.at(0x200 + 0x48)).u64(runtime.at(0x300));
    runtime.explicit_frame(0x300, frame_identifier::resumable, runtime.at(0x640));
    runtime.memory().at(runtime.at(0x310)).u64(0xDEAD'0000);
    const WalkedStack walked = runtime.walk(start);
    CHECK(walked.walk.end == WalkEnd::bottom);
    REQUIRE(walked.walk.notes.size() == 1);
    CHECK_THAT(walked.walk.notes[0], Catch::Contains("0xdead0000"));
  }
}

TEST_CASE("return addresses and stack pointers that lead back end a walk", "[walker][faults]") {
  const Cpu cpu = GENERATE(Cpu::x64, Cpu::arm64);
  WalkerRuntime runtime(cpu);
  SECTION("a method that returns to itself grows up to the end of the stack") {
    for (Address sp = 0x100; sp < WalkerRuntime::stack_size; sp += 0x100) runtime.frame(sp, runtime.in(1));
    const WalkedStack walked = runtime.walk(runtime.registers(runtime.in(1), 0x100));
    CHECK(walked.frames.size() == 64);
    CHECK(walked.walk.end == WalkEnd::failed);
    CHECK(walked.walk.reason ==
          fmt::format("memory at {:#x} is not available",
                      runtime.at(0x4000 + runtime.fp_slot() + (cpu == Cpu::x64 ? 8 : 8))));
  }
  SECTION("a call whose stack pointer lies behind is not taken") {
    runtime.inlined_call(0x240, runtime.in(2), 0x40);
    const WalkedStack walked = runtime.walk(runtime.registers(runtime.native_code, 0x80));
    for (const StackFrame& frame : walked.frames) CHECK_FALSE(frame.code);
    CHECK(walked.walk.end == WalkEnd::failed);
    CHECK_FALSE(walked.walk.reason.empty());
  }
  SECTION("a frame pointer of its own") {
    // arm64 takes the stack pointer from the frame pointer.
    if (cpu == Cpu::arm64) {
      runtime.frame(0x100, runtime.in(1), runtime.at(0x100));
      const WalkedStack walked = runtime.walk(runtime.registers(runtime.in(1), 0x100));
      CHECK(walked.walk.end == WalkEnd::failed);
      CHECK(walked.frames.size() <= 3);
      CHECK_THAT(walked.walk.reason, Catch::Contains("does not grow"));
    }
  }
  SECTION("a fault whose context lies below the code that led to it") {
    // M0 returns to native code, which returns, by its frame pointer, to M0; the Frame says that this was a
    // fault on another stack: the place where the walk began.
    if (cpu == Cpu::x64)
      runtime.memory().at(runtime.native_return - 5).bytes({0xE8, 0, 0, 0, 0});
    else
      runtime.memory().at(runtime.native_return - 4).u32(0x9400'0001);
    if (cpu == Cpu::x64)
      runtime.memory().at(runtime.in(0) - 5).bytes({0xE8, 0, 0, 0, 0});
    else
      runtime.memory().at(runtime.in(0) - 4).u32(0x9400'0001);
    runtime.frame(0x100, runtime.native_return, runtime.at(0x1800));
    runtime.memory().at(runtime.at(0x1800)).u64(runtime.at(0x1810)).u64(runtime.in(0));
    runtime.frame(0x1810, 0);
    runtime.faulting(0x300, runtime.in(0), 0x100);
    const WalkedStack walked = runtime.walk(runtime.registers(runtime.in(0), 0x100));
    CHECK(walked.frames.size() < 10);
    CHECK(walked.walk.end == WalkEnd::bottom);
  }
}

TEST_CASE("faults within handlers of faults nest as deep as the stack", "[walker]") {
  const Cpu cpu = GENERATE(Cpu::x64, Cpu::arm64);
  WalkerRuntime runtime(cpu);
  constexpr unsigned count = 100;
  constexpr Address step = 0x800;
  runtime.memory().at(WalkerRuntime::stack).fill((count + 1) * step);
  for (unsigned i = 0; i < count; ++i) {
    const Address base = i * step, next = runtime.at(base + step + 0x100);
    runtime.faulting(base + 0x100, runtime.in(i % 4, 0x44), base + 0x600,
                     i + 1 < count ? next : WalkerRuntime::end_of_chain);
    runtime.frame(base + 0x600, i + 1 < count ? runtime.native_return : 0);
  }
  const WalkedStack walked = runtime.walk(runtime.registers(runtime.native_code, 0x80));
  CHECK(walked.walk.end == WalkEnd::bottom);
  CHECK(walked.walk.reason.empty());
  CHECK(walked.frames.size() == 3 * count);
}

TEST_CASE("Frames that lead nowhere are not asked again by every frame", "[walker]") {
  WalkerRuntime runtime(Cpu::x64);
  constexpr unsigned frames = 150, count = 150;
  runtime.memory().at(runtime.native_return - 5).bytes({0xE8, 0, 0, 0, 0});
  // Native code that only frame pointers lead out of, and behind it calls whose callers lie further in.
  for (unsigned i = 0; i + 1 < frames; ++i)
    runtime.memory()
        .at(runtime.at(0x100 + i * 16))
        .u64(i + 2 < frames ? runtime.at(0x110 + i * 16) : 0)
        .u64(WalkerRuntime::native_return);
  for (unsigned i = 0; i < count; ++i) {
    const Address at = 0x1000 + i * 64;
    runtime.inlined_call(at, runtime.in(2), 0x40,
                         i + 1 < count ? runtime.at(at + 64) : WalkerRuntime::end_of_chain);
  }
  const ContractDescriptor descriptor = runtime.execution.types().contract_descriptor();
  FailingReader reader(runtime.memory());
  const WalkedStack walked = runtime.walk(reader, descriptor, runtime.registers(runtime.native_code, 0x100));
  CHECK(walked.frames.size() == frames + count);
  CHECK(walked.walk.end == WalkEnd::bottom);
  CHECK(walked.walk.steps == frames + count + count);
  CHECK(reader.reads() < 40 * (frames + count)); // and not some for each pair of them
}

TEST_CASE("a Frame is not compared with frames without an end", "[walker]") {
  WalkerRuntime runtime(Cpu::x64);
  // Each Frame leads to a frame further out whose method cannot be unwound, and all lie before them: so many
  // that the pairs are more than a walk looks at.
  constexpr unsigned count = 2'100;
  constexpr Address step = 48, beyond = count * step + 0x100;
  runtime.memory().at(WalkerRuntime::stack).fill(beyond + count * 16 + 0x1000);
  runtime.memory().at(WalkerRuntime::code + 0x8000 + 2 * 0x40).fill(0x40, 0xFF);
  for (unsigned i = 0; i < count; ++i)
    runtime.inlined_call(i * step, runtime.in(1), beyond + i * 16,
                         i + 1 < count ? runtime.at((i + 1) * step) : WalkerRuntime::end_of_chain);
  const WalkedStack walked = runtime.walk(runtime.registers(runtime.in(1), beyond - 16));
  CHECK(walked.walk.end == WalkEnd::failed);
  const auto told = [](const std::string& note) {
    return note.find("asked more than 2000000 times") != std::string::npos;
  };
  CHECK(std::ranges::count_if(walked.walk.notes, told) == 1);
  const auto managed =
      std::ranges::count_if(walked.frames, [](const StackFrame& frame) { return frame.code.has_value(); });
  CHECK(managed > 1'900);
  CHECK(managed < count);
  CHECK(walked.frames.size() - static_cast<std::size_t>(managed) >= count); // each Frame is shown
}

TEST_CASE("threads with one chain of Frames read it once", "[walker]") {
  WalkerRuntime runtime(GENERATE(Cpu::x64, Cpu::arm64));
  runtime.frame(0x100, 0);
  constexpr unsigned count = 50;
  for (unsigned i = 0; i < count; ++i)
    runtime.explicit_frame(0x1000 + i * 16, 0x1234,
                           i + 1 < count ? runtime.at(0x1010 + i * 16) : WalkerRuntime::end_of_chain);
  const ContractDescriptor descriptor = runtime.execution.types().contract_descriptor();
  FailingReader reader(runtime.memory());
  const Target target(reader, descriptor, descriptor.platform);
  ExecutionManager manager(target);
  NativeUnwinder native(reader, descriptor.platform, {});
  StackWalker walker(&target, &manager, native);
  const auto walk = [&] {
    const std::uint64_t before = reader.reads();
    const stack::Walk walked = walker.walk(runtime.registers(runtime.in(2), 0x100), &runtime.thread,
                                           [](const StackFrame&) { return true; });
    CHECK(walked.steps == 1 + 2 * count);
    return reader.reads() - before;
  };
  CHECK(walk() >= 2 * count);
  CHECK(walk() < count);
  // Another head is another chain.
  runtime.thread.frame = runtime.at(0x1000 + (count - 1) * 16);
  const stack::Walk last = walker.walk(runtime.registers(runtime.in(2), 0x100), &runtime.thread,
                                       [](const StackFrame&) { return true; });
  CHECK(last.steps == 1 + 2);
}
