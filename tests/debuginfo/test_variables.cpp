// Locations of variables. Peer cases: the tests of dotnet/runtime src/native/managed/cdac (DebugInfo).
#include "core/debuginfo/variables.h"
#include "tests/debuginfo/debug_info_writer.h"
#include "tests/support/faults.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

constexpr VariablesCoding all_codings[] = {VariablesCoding::from_4, VariablesCoding::from_5,
                                           VariablesCoding::number_first};

std::vector<debuginfo::Variable> decode(const Bytes& raw, VariablesCoding coding, bool x86 = false) {
  return decode_variables({.address = 0x1000, .bytes = raw}, coding, x86);
}

// One of each home.
std::vector<debuginfo::Variable> every_home() {
  const std::vector<VariableLocation> locations{
      {.home = VariableHome::reg, .reg = 7},
      {.home = VariableHome::reg_byref, .reg = 12},
      {.home = VariableHome::reg_fp, .reg = 33},
      {.home = VariableHome::stack, .base = 5, .offset = -24},
      {.home = VariableHome::stack_byref, .base = 4, .offset = 64},
      {.home = VariableHome::reg_reg, .reg = 1, .reg2 = 2},
      {.home = VariableHome::reg_stack, .reg = 3, .base = 5, .offset = -8},
      {.home = VariableHome::stack_reg, .reg = 6, .base = 4, .offset = 4000},
      {.home = VariableHome::stack2, .base = 17, .offset = 16},
      {.home = VariableHome::fp_stack, .index = 3},
      {.home = VariableHome::fixed_va, .index = 40}};
  std::vector<debuginfo::Variable> all;
  std::uint32_t at = 0;
  for (const VariableLocation& location : locations) {
    // Any order, and more than once.
    const auto number = static_cast<std::int32_t>(at % 4);
    all.push_back({.number = number, .begin = at * 10, .end = at * 10 + 100 * at, .location = location});
    ++at;
  }
  for (const std::int32_t number : {debuginfo::Variable::varargs_handle, debuginfo::Variable::return_buffer,
                                    debuginfo::Variable::type_context, debuginfo::Variable::unknown})
    all.push_back({.number = number, .begin = 0, .end = 0xFFFF'FFFF, .location = locations[0]});
  return all;
}

} // namespace

TEST_CASE("a vector worked out by hand") {
  // One variable: [2, 12), number 1 (stored 5), on the stack at rbp - 24 (5, 49).
  const Bytes raw = bytes({0x21, 0x29, 0x35, 0xE5, 0x01});
  const std::vector<debuginfo::Variable> expected{
      {.number = 1,
       .begin = 2,
       .end = 12,
       .location = {.home = VariableHome::stack, .base = 5, .offset = -24}}};
  CHECK(decode(raw, VariablesCoding::from_4) == expected);
  CHECK(variables_bytes(expected, VariablesCoding::from_4) == raw);
}

TEST_CASE("every home in every coding") {
  for (const VariablesCoding coding : all_codings)
    for (const bool x86 : {false, true}) {
      INFO(static_cast<int>(coding) << ' ' << x86);
      CHECK(decode(variables_bytes(every_home(), coding, x86), coding, x86) == every_home());
    }
}

TEST_CASE("the return value of a call names the call") {
  const std::vector<debuginfo::Variable> expected{
      {.number = debuginfo::Variable::call_return,
       .begin = 40,
       .end = 41,
       .location = {.home = VariableHome::reg, .reg = 0},
       .call_il = 17},
      {.number = 0, .begin = 0, .end = 40, .location = {.reg = 3}}};
  const Bytes raw = variables_bytes(expected, VariablesCoding::number_first);
  CHECK(decode(raw, VariablesCoding::number_first) == expected);
}

TEST_CASE("no block has no variables") {
  for (const VariablesCoding coding : all_codings) {
    CHECK(decode({}, coding).empty());
    CHECK(decode(NibbleWriter().u32(0).bytes(), coding).empty());
  }
}

TEST_CASE("variables that are cut anywhere are corrupt") {
  for (const VariablesCoding coding : all_codings) {
    const Bytes whole = variables_bytes(every_home(), coding);
    for (std::size_t size = 1; size < whole.size(); ++size) {
      INFO(static_cast<int>(coding) << ' ' << size);
      const auto error = fault_of([&] {
        decode({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}, coding);
      });
      REQUIRE(error);
      CHECK(error->kind() == ErrorKind::corrupt);
    }
  }
}

TEST_CASE("variables that lie are corrupt") {
  const auto check = [](NibbleWriter raw, VariablesCoding coding = VariablesCoding::from_4,
                        bool x86 = false) {
    Bytes padded = raw.bytes();
    padded.resize(padded.size() + 16);
    const auto error = fault_of([&] { decode(padded, coding, x86); });
    REQUIRE(error);
    CHECK(error->kind() == ErrorKind::corrupt);
    CHECK(error->address() == 0x1000);
  };
  SECTION("counts") {
    check(NibbleWriter().u32(50).u32(0));
    check(NibbleWriter().u32(0xFFFF'FFFF));
  }
  SECTION("homes") {
    for (const std::uint32_t type : {11u, 12u, 0xFFFF'FFFFu})
      check(NibbleWriter().u32(1).u32(0).u32(1).u32(4).u32(type));
  }
  SECTION("ranges") {
    check(NibbleWriter().u32(1).u32(1).u32(0xFFFF'FFFF).u32(4).u32(0).u32(0));
    check(NibbleWriter().u32(1).u32(1).u32(0xFFFF'FFFF).u32(4).u32(0).u32(0), VariablesCoding::number_first);
  }
  SECTION("numbers") {
    check(NibbleWriter().u32(1).u32(0).u32(1).u32(0xFFFF'FFFF).u32(0).u32(0));
  }
  SECTION("offsets of x86") {
    check(NibbleWriter().u32(1).u32(0).u32(1).u32(4).u32(3).u32(5).i32(0x2000'0000), VariablesCoding::from_4,
          true);
  }
}

TEST_CASE("names of registers") {
  CHECK(debug_register_name(Cpu::x64, 0) == "rax");
  CHECK(debug_register_name(Cpu::x64, 3) == "rbx");
  CHECK(debug_register_name(Cpu::x64, 4) == "rsp");
  CHECK(debug_register_name(Cpu::x64, 5) == "rbp");
  CHECK(debug_register_name(Cpu::x64, 15) == "r15");
  CHECK(debug_register_name(Cpu::x64, 16).empty());
  CHECK(debug_register_name(Cpu::x64, 17) == "ambient_sp");
  CHECK(debug_register_name(Cpu::x64, 18).empty());
  CHECK(debug_register_name(Cpu::arm64, 28) == "x28");
  CHECK(debug_register_name(Cpu::arm64, 29) == "fp");
  CHECK(debug_register_name(Cpu::arm64, 31) == "sp");
  CHECK(debug_register_name(Cpu::arm64, 34) == "ambient_sp");
  CHECK(debug_register_name(Cpu::x86, 5) == "ebp");
  CHECK(debug_register_name(Cpu::arm, 11) == "r11");
  CHECK(debug_register_name(Cpu::unknown, 0).empty());
}

TEST_CASE("words of homes") {
  CHECK(to_string(VariableHome::reg) == "reg");
  CHECK(to_string(VariableHome::stack_byref) == "stack_byref");
  CHECK(to_string(VariableHome::fixed_va) == "fixed_va");
}

TEST_CASE("a block has no more entries than the variables of a method can have") {
  Bytes raw = NibbleWriter().u32(max_variable_entries + 1).bytes();
  raw.resize(raw.size() + std::size_t{max_variable_entries} * 3);
  const auto told =
      fault_of([&] { decode_variables({.address = 0x1000, .bytes = raw}, VariablesCoding::from_4, false); });
  REQUIRE(told);
  CHECK(told->kind() == ErrorKind::corrupt);
}
