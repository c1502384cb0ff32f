// Unwind records as text.
#include "core/isa/unwind_record.h"
#include "core/memory/error.h"
#include "tests/support/stack_memory.h"

#include <catch2/catch.hpp>

using namespace clr;
using test::StackMemory;

namespace {

constexpr Address base = 0x10000, function = 0x20000, unwind = 0x21000;

std::vector<std::string> texts(const UnwindRecord& record) {
  std::vector<std::string> lines;
  for (const UnwindStep& step : record.steps)
    lines.push_back((step.prologue_offset ? std::to_string(*step.prologue_offset) + " " : "") + step.op +
                    (step.what.empty() ? "" : " " + step.what));
  return lines;
}

} // namespace

TEST_CASE("x64 unwind records tell every code", "[isa][unwind_record]") {
  StackMemory memory;
  memory.u32(function, 0x100);
  memory.u32(function + 4, 0x180);
  memory.u32(function + 8, static_cast<std::uint32_t>(unwind - base));
  // Version 1 with a handler, a prologue of 12 bytes, 5 slots, frame register rbp = rsp + 0x40.
  memory.bytes(unwind, {0x09, 12,   6,    0x45, //
                        12,   0x64, 3,    0,    // SAVE_NONVOL rsi at 0x18
                        9,    0x03,             // SET_FPREG
                        6,    0x01, 0x20, 0x00, // ALLOC_LARGE 0x100
                        2,    0x50,             // PUSH_NONVOL rbp
                        0x34, 0x12, 0,    0});  // handler
  const auto records = unwind_records(memory, Cpu::x64, function, base);
  REQUIRE(records.size() == 1);
  CHECK(records[0].function == function);
  CHECK(records[0].begin == base + 0x100);
  CHECK(records[0].end == base + 0x180);
  CHECK(records[0].unwind_info == unwind);
  CHECK(records[0].details == std::vector<std::string>{"prologue of 12 bytes",
                                                       "frame register rbp = rsp + 0x40",
                                                       "exception handler at 0x11234"});
  CHECK(texts(records[0]) == std::vector<std::string>{"12 SAVE_NONVOL rsi at + 0x18",
                                                      "9 SET_FPREG rbp = rsp + 0x40",
                                                      "6 ALLOC_LARGE 0x100 bytes", "2 PUSH_NONVOL rbp"});
}

TEST_CASE("a chained x64 record tells its parents, and a loop of them ends", "[isa][unwind_record]") {
  StackMemory memory;
  memory.u32(function, 0x100);
  memory.u32(function + 4, 0x180);
  memory.u32(function + 8, static_cast<std::uint32_t>(unwind - base));
  memory.bytes(unwind, {0x21, 4, 1, 0, 4, 0x02, 0, 0, 0x00, 2, 0, 0, 0x80, 2, 0, 0});
  const bool loops = GENERATE(false, true);
  const Address parent = loops ? unwind : unwind + 0x40;
  memory.u32(unwind + 16, static_cast<std::uint32_t>(parent - base));
  if (!loops) memory.bytes(parent, {0x01, 1, 1, 0, 1, 0x30, 0, 0});
  const auto records = unwind_records(memory, Cpu::x64, function, base);
  CHECK(records[0].details == std::vector<std::string>{"prologue of 4 bytes", "chained"});
  CHECK(texts(records[0]) == std::vector<std::string>{"4 ALLOC_SMALL 0x8 bytes"});
  if (loops) {
    CHECK(records.size() == 32);
    return;
  }
  REQUIRE(records.size() == 2);
  CHECK(records[1].function == 0);
  CHECK(records[1].begin == base + 0x200);
  CHECK(texts(records[1]) == std::vector<std::string>{"1 PUSH_NONVOL rbx"});
}

TEST_CASE("arm64 unwind records tell every code", "[isa][unwind_record]") {
  StackMemory memory;
  memory.u32(function, 0x100);
  memory.u32(function + 4, static_cast<std::uint32_t>(unwind - base));
  // 0x40 bytes of code, a handler, one epilogue scope, two words of codes.
  memory.u32(unwind, 0x10 | 1u << 20 | 1u << 22 | 2u << 27);
  memory.u32(unwind + 4, 0xC | 1u << 22);
  memory.bytes(unwind + 8, {0xE1, 0xC8, 0x02, 0x85, 0xE4, 0xE3, 0xE3, 0xE3}); // set_fp, x19 x20, fp lr, end
  memory.u32(unwind + 16, 0x2000);
  const auto records = unwind_records(memory, Cpu::arm64, function, base);
  REQUIRE(records.size() == 1);
  CHECK(records[0].end == base + 0x140);
  CHECK(records[0].details ==
        std::vector<std::string>{"epilogue at + 0x30, codes from 1", "exception handler at 0x12000"});
  CHECK(texts(records[0]) == std::vector<std::string>{"set_fp", "save x19, x20 at + 0x10",
                                                      "save fp, lr, sp -= 0x30 first", "end"});
}

TEST_CASE("missing and torn unwind data is a fault", "[isa][unwind_record]") {
  StackMemory memory;
  CHECK_THROWS_AS(unwind_records(memory, Cpu::x64, function, base), Error);
  CHECK_THROWS_AS(unwind_records(memory, Cpu::arm64, function, base), Error);
}
