// The walker in native code without call frame information, where the only unwind information is words on the
// stack. It must end, say why, and never go back.
#include "core/stack/native_unwinder.h"
#include "core/stack/walker.h"
#include "tests/support/stack_memory.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <functional>
#include <random>

using namespace clr;
using test::StackMemory;

namespace {

constexpr Address stack_start = 0x7000'0000, code = 0x40'0000;
constexpr std::size_t stack_words = 512, code_size = 0x1000;

// One module of code without call frame information, in which every word may follow a call.
struct Torn {
  StackMemory memory;
  Cpu cpu;

  explicit Torn(Cpu of) : cpu(of) {
    if (cpu == Cpu::arm64)
      for (Address at = 0; at < code_size; at += 4) memory.u32(code + at, 0x9400'0000); // bl
    else
      for (Address at = 0; at < code_size; at += 5) memory.bytes(code + at, {0xE8, 0, 0, 0, 0}); // call
  }
  static constexpr Address return_address = code + 20; // behind a call on either CPU

  RegisterContext start(Address fp) const {
    RegisterContext context(cpu);
    for (unsigned reg = 0; reg < register_roles(cpu).count; ++reg) context.set(reg, return_address);
    context.set_pc(return_address + 20);
    context.set_sp(stack_start);
    context.set_fp(fp);
    return context;
  }

  struct Seen {
    stack::Walk walk;
    std::vector<Address> stack_pointers;
  };
  Seen walk(const RegisterContext& context, std::size_t limit = 100'000) {
    NativeUnwinder native(memory, {8, ByteOrder::little, cpu, Os::unix_like},
                          {{.path = "/lib/torn.so", .base = code, .size = code_size}});
    StackWalker walker(nullptr, nullptr, native);
    Seen seen;
    seen.walk = walker.walk(context, nullptr,
                            [&](const StackFrame& frame) {
                              CHECK(frame.kind == StackFrameKind::native);
                              seen.stack_pointers.push_back(frame.sp());
                              return true;
                            },
                            {.max_frames = limit});
    return seen;
  }
};

// An arm64 leaf may have no frame of its own: its caller has the same stack pointer.
bool grows(const std::vector<Address>& values) {
  const std::size_t first = values.size() > 1 && values[0] == values[1] ? 1 : 0;
  return std::adjacent_find(values.begin() + static_cast<std::ptrdiff_t>(first), values.end(),
                            std::greater_equal<>()) == values.end();
}

} // namespace

TEST_CASE("walker: random words on the stack", "[stack][walker]") {
  for (const Cpu cpu : {Cpu::x64, Cpu::arm64}) {
    for (unsigned seed = 0; seed < 300; ++seed) {
      Torn torn(cpu);
      std::mt19937 random(seed);
      // Words that look like something: code, stack (mostly further out), null, rubbish.
      for (std::size_t word = 0; word < stack_words; ++word) {
        const auto draw = static_cast<std::uint32_t>(random());
        Address value = draw;
        if (draw % 4 == 0) value = code + draw / 4 % code_size;
        if (draw % 4 == 1) value = stack_start + draw / 4 % (stack_words * 8);
        if (draw % 4 == 2) value = stack_start + (word * 8 + draw / 4 % 64) % (stack_words * 8) / 8 * 8;
        if (draw % 64 == 3) value = 0;
        torn.memory.u64(stack_start + word * 8, value);
      }
      CAPTURE(to_string(cpu), seed);
      const Torn::Seen seen = torn.walk(torn.start(stack_start + random() % 64 * 8));
      CHECK(seen.stack_pointers.size() <= stack_words + 2);
      CHECK(grows(seen.stack_pointers));
      CHECK((seen.walk.end == WalkEnd::bottom || seen.walk.end == WalkEnd::failed));
      CHECK((seen.walk.end != WalkEnd::failed || !seen.walk.reason.empty()));
    }
  }
}

TEST_CASE("walker: a chain of frame pointers that leads back", "[stack][walker]") {
  for (const Cpu cpu : {Cpu::x64, Cpu::arm64}) {
    Torn torn(cpu);
    CAPTURE(to_string(cpu));
    const Address back = GENERATE(Address{0x100}, Address{0x80}, Address{0x40}); // itself, inward
    for (std::size_t word = 0; word < stack_words; ++word) torn.memory.u64(stack_start + word * 8, 0);
    torn.memory.words(stack_start + 0x40, {stack_start + 0x80, Torn::return_address});
    torn.memory.words(stack_start + 0x80, {stack_start + 0x100, Torn::return_address});
    torn.memory.words(stack_start + 0x100, {stack_start + back, Torn::return_address});
    const Torn::Seen seen = torn.walk(torn.start(stack_start + 0x40));
    CAPTURE(seen.walk.reason);
    CHECK(seen.stack_pointers.size() >= 3);
    CHECK(seen.stack_pointers.size() <= 5);
    CHECK(grows(seen.stack_pointers));
    CHECK(seen.walk.end == WalkEnd::failed);
    CHECK_FALSE(seen.walk.reason.empty());
  }
}

TEST_CASE("walker: a limit, a visitor that has enough, and registers that are not known", "[stack][walker]") {
  Torn torn(Cpu::x64);
  for (Address at = 0; at < 0x800; at += 0x10)
    torn.memory.words(stack_start + at, {stack_start + at + 0x10, Torn::return_address});
  const Torn::Seen limited = torn.walk(torn.start(stack_start), 7);
  CHECK(limited.stack_pointers.size() == 7);
  CHECK(limited.walk.end == WalkEnd::limit);

  NativeUnwinder native(torn.memory, {8, ByteOrder::little, Cpu::x64, Os::unix_like},
                        {{.path = "/lib/torn.so", .base = code, .size = code_size}});
  StackWalker walker(nullptr, nullptr, native);
  unsigned frames = 0;
  CHECK(walker.walk(torn.start(stack_start), nullptr, [&](const StackFrame&) { return ++frames < 3; }).end ==
        WalkEnd::stopped);
  CHECK(frames == 3);

  const stack::Walk nothing =
      walker.walk(RegisterContext(Cpu::x64), nullptr, [&](const StackFrame&) { return true; });
  CHECK(nothing.end == WalkEnd::failed);
  CHECK_FALSE(nothing.reason.empty());
}

TEST_CASE("walker: whichever read fails, the walk ends and says why", "[stack][walker]") {
  for (const Cpu cpu : {Cpu::x64, Cpu::arm64}) {
    std::size_t whole = 0;
    for (std::size_t k = 0;; ++k) {
      Torn torn(cpu);
      for (Address at = 0; at < 0x100; at += 0x10)
        torn.memory.words(stack_start + at,
                          {at == 0xF0 ? 0 : stack_start + at + 0x10, at == 0xF0 ? 0 : Torn::return_address});
      torn.memory.fail_at = k == 0 ? std::numeric_limits<std::size_t>::max() : k - 1;
      CAPTURE(to_string(cpu), k);
      const Torn::Seen seen = torn.walk(torn.start(stack_start));
      if (k == 0) whole = seen.stack_pointers.size();
      CHECK(seen.stack_pointers.size() <= whole);
      CHECK(grows(seen.stack_pointers));
      CHECK((seen.walk.end != WalkEnd::failed || !seen.walk.reason.empty()));
      if (k != 0 && torn.memory.reads < k) break;
      REQUIRE(k < 2000);
    }
    CHECK(whole >= 15);
  }
}
