// Roots of the frames of synthetic stacks, by the rules of the runtime's collector.
#include "core/stack/stack_roots.h"
#include "tests/stack/walker_runtime.h"
#include "tests/support/gc_info_builder.h"

#include <catch2/catch.hpp>

#include <optional>

using namespace clr;
using namespace clr::test;
using Lines = std::vector<std::string>;

namespace {

// Slots of every CPU: a register that a call may change, one that it may not, stack words, an untracked one.
GcInfoSpec some_slots(Cpu cpu) {
  return {.cpu = cpu,
          .length = WalkerRuntime::method_size,
          .fat = true,
          .frame_register = true,
          .registers = {{.reg = 2}, {.reg = cpu == Cpu::x64 ? 3u : 19u}}, // rdx, rbx; x2, x19
          .stack = {{.base = 1, .offset = 0x10}, {.base = 2, .offset = 0x40}},
          .untracked = {{.base = 2, .offset = 0x50, .flags = 3}}};
}

class Roots {
public:
  explicit Roots(Cpu cpu) : runtime(cpu), cpu_(cpu) {}

  // The GC info of method `index`.
  void gc_info(unsigned index, const GcInfoSpec& spec) {
    runtime.header_word(index, "GCInfo", runtime.memory().place(gc_info_bytes(spec)));
  }
  // The funclet of method `index` is a filter.
  void filter(unsigned index) {
    const Address section = runtime.memory().allocate(64);
    runtime.memory().at(section).u64(1).u64(0).u32(1).u32(0).u32(0x10).u32(0x90).u32(0xA0).u32(0).u32(
        WalkerRuntime::funclet);
    runtime.header_word(index, "EHInfo", section + 8);
  }
  // Words of the frame at `sp`, whose frame register is `sp`, too.
  void words(Address sp) {
    runtime.memory().at(runtime.at(sp + 0x10)).u64(sp + 1);
    runtime.memory().at(runtime.at(sp + 0x40)).u64(sp + 2);
    runtime.memory().at(runtime.at(sp + 0x50)).u64(sp + 3);
  }
  RegisterContext start(Address pc, Address sp) const {
    RegisterContext context = runtime.registers(pc, sp);
    context.set(saved(), 0xB);
    context.set(cpu_ == Cpu::x64 ? x64_register::rdx : 2, 0xA);
    return context;
  }
  unsigned saved() const { return cpu_ == Cpu::x64 ? x64_register::rbx : arm64_register::x19; }

  // "0: rbx=b [sp+10]=101 ..." for each frame with roots, then the notes. Of the runtime's Frames "1
  // PrestubMethodFrame: ...", their words by their places in the stack.
  Lines walk(const RegisterContext& start) {
    const Target target = runtime.execution.target();
    ExecutionManager manager(target);
    NativeUnwinder native(runtime.memory(), target.platform(), {});
    StackWalker walker(&target, &manager, native);
    StackRoots roots(target, manager, shapes, most_words);
    Lines lines;
    const StackRoots::Visit visit = [&](const FrameRoots& frame) {
      std::string line =
          fmt::format("{}{}{}:", frame.frame, frame.frame_type.empty() ? "" : " ", frame.frame_type);
      for (const StackRoot& root : frame.roots)
        line +=
            fmt::format(" {}={:x}{}", name(frame, root), root.value, root.why_uncertain.empty() ? "" : "?");
      lines.push_back(line);
      return lines.size() < limit;
    };
    roots.begin(visit, &runtime.thread);
    std::size_t index = 0;
    walker.walk(start, &runtime.thread, [&](StackFrame frame) {
      frame.gap = index++ == gap;
      return roots.add(frame);
    });
    for (std::string& note : roots.finish()) lines.push_back("note " + std::move(note));
    return lines;
  }

  WalkerRuntime runtime;
  CallShapes* shapes = nullptr;
  std::size_t limit = 1000, most_words = StackRoots::max_root_words;
  std::optional<std::size_t> gap; // before this frame

private:
  static std::string name(const FrameRoots& frame, const StackRoot& root) {
    if (!frame.frame_type.empty())
      return fmt::format("{:x}{}", *root.address - WalkerRuntime::stack, root.slot.interior ? "~" : "");
    if (root.slot.reg)
      return root.slot.reg == x64_register::rbx || root.slot.reg == arm64_register::x19 ? "saved" : "scratch";
    return fmt::format("[{}+{:x}]", root.slot.base == GcBase::sp ? "sp" : "fp", *root.address - frame.sp);
  }

  Cpu cpu_;
};

// M2 calls from 0x20, and M1 and M0 too.
void add_chain(Roots& roots, Address sp) {
  for (unsigned n = 0; n < 3; ++n) {
    roots.runtime.frame(sp + 0x100 * n, n == 2 ? 0 : WalkerRuntime::in(1 - n));
    roots.words(sp + 0x100 * n);
  }
}

} // namespace

TEST_CASE("roots of frames that wait for a call", "[roots]") {
  const Cpu cpu = GENERATE(Cpu::x64, Cpu::arm64);
  Roots roots(cpu);
  add_chain(roots, 0x100);
  GcInfoSpec spec = some_slots(cpu);
  spec.safe_points = {{.offset = 0x20, .live = {0, 1, 2, 3}}};
  roots.gc_info(1, spec);
  // M2 has a safe point, but not here; the second word of M0 is an argument of the call.
  spec.safe_points[0].offset = 0x24;
  roots.gc_info(2, spec);
  spec.safe_points[0].offset = 0x20;
  spec.outgoing = 0x18;
  roots.gc_info(0, spec);
  CHECK(roots.walk(roots.start(roots.runtime.in(2), 0x100)) ==
        Lines{"0: [fp+50]=103?", "1: saved=b [sp+10]=201 [fp+40]=202 [fp+50]=203",
              "2: saved=b [fp+40]=302 [fp+50]=303"});
}

TEST_CASE("no more places of references are looked at than a limit", "[roots]") {
  const Cpu cpu = GENERATE(Cpu::x64, Cpu::arm64);
  Roots roots(cpu);
  add_chain(roots, 0x100);
  GcInfoSpec spec = some_slots(cpu);
  spec.safe_points = {{.offset = 0x20, .live = {0, 1, 2, 3}}};
  for (const unsigned index : {0u, 1u, 2u}) roots.gc_info(index, spec);
  roots.most_words = 7;
  // Three of M2 and of M1, whose other registers the calls may have changed, and one more.
  CHECK(roots.walk(roots.start(roots.runtime.in(2), 0x100)) ==
        Lines{"0: scratch=a saved=b [sp+10]=101 [fp+40]=102 [fp+50]=103", "1: saved=b [sp+10]=201",
              "note the frames that were looked at have more than 7 places of references, and the rest is "
              "left out"});
}

TEST_CASE("live slots are kept up to a number of all instructions together", "[roots]") {
  constexpr unsigned slots = 60'000;
  WalkerRuntime runtime(Cpu::x64);
  GcInfoSpec spec = some_slots(Cpu::x64);
  spec.untracked.clear();
  for (unsigned n = 0; n < slots; ++n) spec.untracked.push_back({.base = 1, .offset = 8 * n});
  runtime.header_word(0, "GCInfo", runtime.memory().place(gc_info_bytes(spec)));
  const Target target = runtime.execution.target();
  ExecutionManager manager(target);
  LiveSlotReader reader(manager);
  for (Address offset = 1; offset <= 40; ++offset) {
    const CodeBlock block = std::get<CodeBlock>(manager.find(WalkerRuntime::in(0, offset)));
    CHECK(reader.at(block, WalkerRuntime::in(0, offset), FrameStand::caller, false).slots.size() == slots);
    CHECK(reader.kept_slots() <= LiveSlotReader::max_kept_slots + slots);
  }
}

TEST_CASE("a frame that cannot be looked up is told", "[roots]") {
  const Cpu cpu = GENERATE(Cpu::x64, Cpu::arm64);
  Roots roots(cpu);
  add_chain(roots, 0x100);
  roots.runtime.memory().at(roots.runtime.method(2) - 8).pointer(0x6660'0000); // its code header
  const Lines lines = roots.walk(roots.start(roots.runtime.in(2), 0x100));
  REQUIRE_FALSE(lines.empty());
  CHECK_THAT(lines.back(), Catch::StartsWith("note frame 0 at 0x40000620 cannot be looked up: ") &&
                               Catch::Contains("0x6660"));
}

TEST_CASE("behind a gap in the stack roots are sure only where no handler can run", "[roots]") {
  const Cpu cpu = GENERATE(Cpu::x64, Cpu::arm64);
  Roots roots(cpu);
  add_chain(roots, 0x100);
  GcInfoSpec spec = some_slots(cpu);
  spec.safe_points = {{.offset = 0x20, .live = {3}}};
  for (const unsigned method : {0u, 1u, 2u}) roots.gc_info(method, spec);
  roots.gap = 1;
  CHECK(roots.walk(roots.start(roots.runtime.in(2), 0x100)) ==
        Lines{"0: [fp+40]=102 [fp+50]=103", "1: [fp+40]=202 [fp+50]=203", "2: [fp+40]=302 [fp+50]=303"});
  roots.runtime.thread.exception_tracker = 0x10;
  CHECK(roots.walk(roots.start(roots.runtime.in(2), 0x100)) ==
        Lines{"0: [fp+40]=102 [fp+50]=103", "1: [fp+40]=202? [fp+50]=203?", "2: [fp+40]=302? [fp+50]=303?"});
}

TEST_CASE("a frame whose next instruction is known reports scratch registers", "[roots]") {
  const Cpu cpu = GENERATE(Cpu::x64, Cpu::arm64);
  Roots roots(cpu);
  roots.runtime.frame(0x100, 0);
  roots.words(0x100);
  GcInfoSpec spec = some_slots(cpu);
  spec.ranges = {{0x10, 0x40}};
  spec.lives = {{.slot = 0, .begin = 0x10, .end = 0x30}, {.slot = 1, .begin = 0x20, .end = 0x40}};
  roots.gc_info(0, spec);
  CHECK(roots.walk(roots.start(roots.runtime.in(0, 0x20), 0x100)) ==
        Lines{"0: scratch=a saved=b [fp+50]=103"});
  CHECK(roots.walk(roots.start(roots.runtime.in(0, 0x30), 0x100)) == Lines{"0: saved=b [fp+50]=103"});
  // In a prolog or an epilog nothing is told.
  CHECK(roots.walk(roots.start(roots.runtime.in(0, 0x40), 0x100)).empty());
  // Of a method without ranges only the untracked slots are, and not surely before the prolog has ended.
  spec.ranges.clear();
  spec.lives.clear();
  spec.context_kind = 2;
  spec.context = GcInfoSpec::Place{.prolog = 0x18, .offset = 8};
  roots.gc_info(0, spec);
  CHECK(roots.walk(roots.start(roots.runtime.in(0, 0x14), 0x100)) == Lines{"0: [fp+50]=103?"});
  CHECK(roots.walk(roots.start(roots.runtime.in(0, 0x18), 0x100)) == Lines{"0: [fp+50]=103"});
}

TEST_CASE("callers of old GC info are known by the call, not by the return address", "[roots]") {
  Roots roots(Cpu::x64);
  add_chain(roots, 0x100);
  GcInfoSpec spec = some_slots(Cpu::x64);
  spec.version = 3;
  spec.ranges = {{0x10, 0x40}};
  spec.lives = {{.slot = 1, .begin = 0x10, .end = 0x20}};
  for (const unsigned index : {0u, 1u, 2u}) roots.gc_info(index, spec);
  roots.runtime.execution.types().global("GCInfoVersion", 3, "uint32"); // when no other blob is left
  CHECK(roots.walk(roots.start(roots.runtime.in(2), 0x100)) ==
        Lines{"0: [fp+50]=103", "1: saved=b [fp+50]=203", "2: saved=b [fp+50]=303"});
}

TEST_CASE("a frame that an exception interrupted reports what is live in ranges alone", "[roots]") {
  const Cpu cpu = GENERATE(Cpu::x64, Cpu::arm64);
  Roots roots(cpu);
  add_chain(roots, 0x1000);
  GcInfoSpec spec = some_slots(cpu);
  spec.safe_points = {{.offset = 0x20, .live = {1, 3}}};
  for (const unsigned index : {0u, 1u, 2u}) roots.gc_info(index, spec);
  roots.runtime.faulting(0x80, roots.runtime.in(2), 0x1000);
  const Lines lines = roots.walk(roots.start(roots.runtime.native_code + 0x10, 0x40));
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].ends_with(": [fp+50]=1003"));
  spec.safe_points.clear();
  spec.ranges = {{0x10, 0x40}};
  spec.lives = {{.slot = 0, .begin = 0x10, .end = 0x40},
                {.slot = 1, .begin = 0x10, .end = 0x40},
                {.slot = 3, .begin = 0x10, .end = 0x40}};
  roots.gc_info(2, spec);
  // Its scratch registers are gone.
  const Lines in_range = roots.walk(roots.start(roots.runtime.native_code + 0x10, 0x40));
  REQUIRE(in_range.size() == 3);
  CHECK(in_range[0].ends_with(" [fp+40]=1002 [fp+50]=1003"));
  CHECK(in_range[0].find("scratch") == std::string::npos);
}

TEST_CASE("a funclet reports for its method, and hides what it left behind", "[roots]") {
  // The synthetic methods of arm64 find their callers by the frame register, which a funclet shares.
  Roots roots(Cpu::x64);
  // The funclet of M1 runs at 0x100; the frames of M2 and of M1 itself, whose frame register is the
  // funclet's, are those that the exception left.
  const Address in_funclet = WalkerRuntime::in(1, WalkerRuntime::funclet + 0x10);
  roots.runtime.frame(0x100, WalkerRuntime::in(2), roots.runtime.at(0x200));
  roots.runtime.frame(0x200, WalkerRuntime::in(1), roots.runtime.at(0x300));
  roots.runtime.frame(0x300, WalkerRuntime::in(0), roots.runtime.at(0x400));
  roots.runtime.frame(0x400, 0);
  for (const Address sp : {0x100, 0x200, 0x300, 0x400}) roots.words(sp);
  for (const unsigned index : {0u, 1u, 2u}) roots.gc_info(index, some_slots(Cpu::x64));
  RegisterContext start = roots.start(in_funclet, 0x100);
  start.set_fp(roots.runtime.at(0x300));
  CHECK(roots.walk(start) == Lines{"0: [fp+250]=303?", "3: [fp+50]=403"});
  // A filter hides nothing, and leaves the untracked slots to its method.
  roots.filter(1);
  CHECK(roots.walk(start) == Lines{"1: [fp+50]=203", "2: [fp+50]=303", "3: [fp+50]=403"});
}

TEST_CASE("frames behind a handler whose method is not met may be alive", "[roots]") {
  Roots roots(Cpu::x64);
  roots.runtime.frame(0x100, WalkerRuntime::in(2), roots.runtime.at(0x200));
  roots.runtime.frame(0x200, 0);
  for (const Address sp : {0x100, 0x200}) roots.words(sp);
  for (const unsigned index : {1u, 2u}) roots.gc_info(index, some_slots(Cpu::x64));
  const Lines lines = roots.walk(roots.start(WalkerRuntime::in(1, WalkerRuntime::funclet + 0x10), 0x100));
  REQUIRE(lines.size() == 3);
  CHECK(lines[0] == "0: [fp+50]=103?");
  CHECK(lines[1] == "1: [fp+50]=203?");
  CHECK(lines[2].starts_with("note the frame of the method at"));
}

TEST_CASE("what cannot be read costs one root, and is told", "[roots]") {
  Roots roots(Cpu::x64);
  add_chain(roots, 0x100);
  GcInfoSpec spec = some_slots(Cpu::x64);
  spec.untracked[0].offset = 0x100'0000; // far away
  roots.gc_info(2, spec);
  roots.gc_info(0, some_slots(Cpu::x64));
  // GC info that cannot be decoded costs one frame.
  roots.gc_info(1, {.length = WalkerRuntime::method_size, .flags = 2});
  const Lines lines = roots.walk(roots.start(roots.runtime.in(2), 0x100));
  REQUIRE(lines.size() == 3);
  CHECK(lines[0] == "2: [fp+50]=303");
  CHECK(lines[1].starts_with("note frame 0 at"));
  CHECK(lines[1].find("[rbp+0x1000000] cannot be read") != std::string::npos);
  CHECK(lines[2].find("the unknown flag 0x2") != std::string::npos);
  // Who has seen enough stops the walk.
  roots.gc_info(1, some_slots(Cpu::x64));
  roots.limit = 1;
  CHECK(roots.walk(roots.start(roots.runtime.in(2), 0x100)).front() == "1: [fp+50]=203");
}

namespace {

// Every method takes an object, a structure of three words with a reference in the last, and a byref.
class SomeShapes final : public CallShapes {
public:
  const std::vector<ArgumentShape>& of(Address method_desc, bool dispatched) override {
    asked = fmt::format("{:x}{}", method_desc, dispatched ? " dispatched" : "");
    if (!known) throw Error(ErrorKind::unsupported_contract, "the type T is not known");
    return shapes_;
  }
  std::string asked;
  bool known = true;

private:
  std::vector<ArgumentShape> shapes_{
      {.size = 8, .references = {{}}},
      {.kind = ArgumentShape::Kind::structure, .size = 24, .references = {{16}}},
      {.size = 8, .references = {{.interior = true}}}};
};

} // namespace

TEST_CASE("a Frame of the runtime's holds the arguments of the call", "[roots]") {
  const Cpu cpu = GENERATE(Cpu::x64, Cpu::arm64);
  Roots roots(cpu);
  SomeShapes shapes;
  roots.shapes = &shapes;
  roots.runtime.frame(0x1000, 0);
  roots.words(0x1000);
  GcInfoSpec spec = some_slots(cpu);
  roots.gc_info(1, spec);
  roots.runtime.prestub(0x100, WalkerRuntime::in(1), 0x1000);
  // Argument registers, and words of the stack behind the block.
  const Address registers = cpu == Cpu::x64 ? 0x1000 - 104 : 0x1000 - 176 + 112;
  for (Address i = 0; i < 4; ++i) {
    roots.runtime.memory().at(roots.runtime.at(registers + 8 * i)).u64(0x100 + i);
    roots.runtime.memory().at(roots.runtime.at(0x1000 + 8 * i)).u64(0x200 + i);
  }
  const RegisterContext start = roots.start(roots.runtime.native_code + 0x10, 0x40);
  const Lines lines = roots.walk(start);
  REQUIRE(lines.size() == 2);
  if (cpu == Cpu::x64)
    CHECK(lines[0] == "1 PrestubMethodFrame: f98=100 1010=202 fa0~=101");
  else // a large structure is passed by reference
    CHECK(lines[0] == "1 PrestubMethodFrame: fc0=100 fc8~=101 fd0~=102");
  CHECK(shapes.asked == "ab0010");
  // What is not known is told, and costs this Frame alone.
  shapes.known = false;
  const Lines unknown = roots.walk(start);
  REQUIRE(unknown.size() == 2);
  CHECK(unknown[0] == lines[1]);
  CHECK(unknown[1].find("PrestubMethodFrame at 0x7fff10000100: ") != std::string::npos);
  CHECK(unknown[1].ends_with("the type T is not known"));
}

TEST_CASE("native code of the runtime holds references in GCFrames", "[roots]") {
  Roots roots(Cpu::x64);
  roots.runtime.frame(0x1000, 0);
  roots.words(0x1000);
  roots.gc_info(1, some_slots(Cpu::x64));
  MemoryBuilder& memory = roots.runtime.memory();
  memory.at(WalkerRuntime::thread_address + 0x2B0).u64(roots.runtime.at(0x300));
  memory.at(roots.runtime.at(0x300))
      .u64(WalkerRuntime::end_of_chain)
      .u64(WalkerRuntime::thread_address)
      .u64(roots.runtime.at(0x340))
      .u32(3)
      .u32(0);
  memory.at(roots.runtime.at(0x340)).u64(0x111).u64(0).u64(0x333);
  roots.runtime.prestub(0x800, WalkerRuntime::in(1), 0x1000);
  const Lines lines = roots.walk(roots.start(roots.runtime.native_code + 0x10, 0x40));
  REQUIRE(lines.size() == 3);
  CHECK(lines[0] == "0 GCFrame: 340=111 350=333");
  CHECK(lines[2].ends_with("signatures are not read"));

  // A damaged count: the first word that cannot be read is the last.
  memory.at(roots.runtime.at(0x300) + 16).u64(roots.runtime.at(WalkerRuntime::stack_size - 8)).u32(90'000);
  const Lines damaged = roots.walk(roots.start(roots.runtime.native_code + 0x10, 0x40));
  CHECK(std::ranges::count_if(damaged, [](const std::string& line) {
          return line.find("GCFrame at 0x7fff10000300: memory at ") != std::string::npos;
        }) == 1);
}

TEST_CASE("the GCFrames of a thread protect no more words than a limit", "[roots]") {
  constexpr std::uint32_t of_one = max_protected_words;
  constexpr Address frames = StackRoots::max_gc_words / of_one + 1, size = 0x28, words = 0x6800'0000;
  Roots roots(Cpu::x64);
  MemoryBuilder& memory = roots.runtime.memory();
  memory.at(words).fill(8 * of_one);
  memory.at(words + 8 * (of_one - 1)).u64(0x111);
  memory.at(WalkerRuntime::thread_address + 0x2B0).u64(roots.runtime.at(0x300));
  for (Address i = 0; i < frames; ++i)
    memory.at(roots.runtime.at(0x300 + size * i))
        .u64(i + 1 < frames ? roots.runtime.at(0x300 + size * (i + 1)) : WalkerRuntime::end_of_chain)
        .u64(WalkerRuntime::thread_address)
        .u64(words)
        .u32(of_one)
        .u32(0);
  const Lines lines = roots.walk(roots.start(roots.runtime.native_code + 0x10, 0x40));
  const auto count = [&](std::string_view text) {
    return std::ranges::count_if(lines,
                                 [&](const std::string& line) { return line.find(text) != line.npos; });
  };
  CHECK(count("GCFrame: ") == frames - 1); // the last word of the others
  CHECK(count("note GCFrame at 0x7fff10000490: those of the thread protect more than 1000000 words, and the "
              "rest is left out") == 1);
}
