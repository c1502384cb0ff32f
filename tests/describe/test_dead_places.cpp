// The code in which the collector no longer looks at a variable's place.
#include "core/describe/dead_places.h"
#include "tests/stack/runtime_builder.h"
#include "tests/support/gc_info_builder.h"

#include <fmt/format.h>

using namespace clr;
using namespace clr::test;

namespace {

constexpr std::uint32_t rbx = 3, rbp = 5, rsp = 4; // as the JIT counts

std::string cut(const GcInfoSpec& spec, const VariableLocation& home, unsigned version = 4) {
  StackMemory memory;
  const std::vector<std::byte> bytes = gc_info_bytes(spec);
  for (Address word = 0; word < bytes.size() + 0x200; word += 8) memory.u64(0x1000 + word, 0);
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    std::uint64_t value = 0;
    for (std::size_t k = 0; k < 8 && i + k < bytes.size(); ++k)
      value |= std::to_integer<std::uint64_t>(bytes[i + k]) << 8 * k;
    memory.u64(0x1000 + i, value);
  }
  const Target target(memory, runtime_descriptor(spec.cpu), {});
  const DeadPlaces dead(target, {.address = 0x1000, .version = version});
  std::vector<DebugVariableRange> ranges{{.begin = 0x10, .end = 0x30, .location = home},
                                         {.begin = 0x30, .end = 0x80, .location = home}};
  dead.cut(ranges);
  std::string text;
  for (const DebugVariableRange& range : ranges) text += fmt::format(" {:x}-{:x}", range.begin, range.end);
  return text;
}

const VariableLocation in_rbx{.home = VariableHome::reg, .reg = rbx};
const VariableLocation in_frame{.home = VariableHome::stack, .base = rbp, .offset = -0x10};

} // namespace

TEST_CASE("a register is dead where no range keeps it", "[publish][variables]") {
  GcInfoSpec spec{.length = 0x80,
                  .fat = true,
                  .frame_register = true,
                  .registers = {{.reg = 3, .flags = 1}, {.reg = 3}, {.reg = 12}},
                  .ranges = {{0x20, 0x60}},
                  .lives = {{.slot = 0, .begin = 0x20, .end = 0x28},
                            {.slot = 1, .begin = 0x40, .end = 0x50},
                            {.slot = 2, .begin = 0x20, .end = 0x60}}};
  // The last byte of the call that returns to 0x28 is how a debugger finds the caller.
  CHECK(cut(spec, in_rbx) == " 10-27 40-4f 60-80");
  // Of a place that the collector never looks at it knows nothing.
  CHECK(cut(spec, {.home = VariableHome::reg, .reg = 6}) == " 10-30 30-80");
  CHECK(cut(spec, in_frame) == " 10-30 30-80");
  CHECK(cut(spec, {.home = VariableHome::reg_byref, .reg = rbx}) == " 10-30 30-80");
  // An older version looks callers up elsewhere.
  spec.version = 3;
  CHECK(cut(spec, in_rbx, 3) == " 10-30 30-80");
}

TEST_CASE("a stack word is dead at the calls that do not keep it", "[publish][variables]") {
  GcInfoSpec spec{.length = 0x80,
                  .fat = true,
                  .frame_register = true,
                  .registers = {{.reg = 3}},
                  .stack = {{.base = 2, .offset = -0x10}, {.base = 1, .offset = 0x18}},
                  .safe_points = {{.offset = 0x20, .live = {1, 2}}, {.offset = 0x40, .live = {0}}}};
  CHECK(cut(spec, in_frame) == " 10-30 30-3f 41-80");
  CHECK(cut(spec, {.home = VariableHome::stack, .base = rsp, .offset = 0x18}) == " 10-30 30-3f 41-80");
  CHECK(cut(spec, in_rbx) == " 10-1f 21-30 30-80");
  // The collector always looks at an untracked word.
  spec.untracked = {{.base = 2, .offset = -0x10}};
  CHECK(cut(spec, in_frame) == " 10-30 30-80");
}

TEST_CASE("of too many places in too many ranges nothing is said to be dead", "[publish][variables]") {
  constexpr std::int32_t places = 4'000, lowest = -0x10 - 8 * (places - 1);
  constexpr std::uint32_t ranges = 2 + DeadPlaces::max_dead_steps / places;
  GcInfoSpec spec{.length = 0x2'0000, .fat = true, .frame_register = true, .ranges = {{0x20, 0x22}}};
  for (std::int32_t i = 0; i < places; ++i) spec.stack.push_back({.base = 2, .offset = lowest + 8 * i});
  CHECK(cut(spec, in_frame) == " 10-20 22-30 30-80");
  for (std::uint32_t i = 1; i < ranges; ++i) spec.ranges.push_back({0x20 + 4 * i, 0x22 + 4 * i});
  CHECK(cut(spec, in_frame) == " 10-30 30-80");
}
