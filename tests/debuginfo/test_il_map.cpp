// The runtime's choice of an IL offset for a native offset. Source of the cases: dotnet/runtime
// src/coreclr/vm/debugdebugger.cpp.
#include "core/debuginfo/il_map.h"

#include <catch2/catch.hpp>

using namespace clr;

namespace {

constexpr std::uint8_t call = IlBoundary::call_instruction, empty = IlBoundary::stack_empty;

IlPosition exact(const IlMap& map, std::uint64_t native) {
  return map.at(native, NativeOffsetKind::exact);
}
IlPosition behind_call(const IlMap& map, std::uint64_t native) {
  return map.at(native, NativeOffsetKind::return_address);
}
IlPosition mapped(std::uint32_t il) {
  return {.il = il, .mark = IlMark::mapped};
}

} // namespace

TEST_CASE("a method without a map has no position") {
  CHECK(exact({}, 0) == IlPosition{.il = 0, .mark = IlMark::none});
  CHECK(behind_call({}, 100) == IlPosition{.il = 0, .mark = IlMark::none});
  CHECK(IlMap().stretches().empty());
}

TEST_CASE("the last boundary at or before an offset counts, to the end of the method") {
  const IlMap map({{0, il_prolog, empty}, {4, 0, empty}, {9, 7, 0}, {16, 12, 0}, {21, il_epilog, empty}});
  CHECK(exact(map, 0) == IlPosition{.mark = IlMark::prolog});
  CHECK(exact(map, 3) == IlPosition{.mark = IlMark::prolog});
  CHECK(exact(map, 4) == mapped(0));
  CHECK(exact(map, 8) == mapped(0));
  CHECK(exact(map, 9) == mapped(7));
  CHECK(exact(map, 15) == mapped(7));
  CHECK(exact(map, 16) == mapped(12));
  CHECK(exact(map, 20) == mapped(12));
  CHECK(exact(map, 21) == IlPosition{.il = 12, .mark = IlMark::epilog});
  CHECK(exact(map, 1'000'000) == IlPosition{.il = 12, .mark = IlMark::epilog});
  CHECK(exact(map, 0x1'0000'0000) == IlPosition{.il = 12, .mark = IlMark::epilog});
}

TEST_CASE("a return address belongs to its call and not to what follows") {
  const IlMap map({{0, 0, empty}, {9, 7, 0}, {16, 12, 0}});
  CHECK(behind_call(map, 9) == mapped(0));
  CHECK(behind_call(map, 10) == mapped(7));
  CHECK(behind_call(map, 16) == mapped(7));
  CHECK(behind_call(map, 17) == mapped(12));
  CHECK(behind_call(map, 0) == mapped(0));
}

TEST_CASE("code before the first boundary is at IL offset 0") {
  const IlMap map({{8, 3, 0}});
  CHECK(exact(map, 7) == IlPosition{.mark = IlMark::before_first});
  CHECK(exact(map, 8) == mapped(3));
  CHECK(behind_call(map, 8) == IlPosition{.mark = IlMark::before_first});
}

TEST_CASE("call instructions do not divide code") {
  const IlMap map(
      {{0, 0, empty}, {4, 9, call}, {6, 30, std::uint8_t{call | empty}}, {8, 5, 0}, {12, il_epilog, 0}});
  CHECK(exact(map, 5) == mapped(0));
  CHECK(exact(map, 6) == mapped(0));
  CHECK(exact(map, 8) == mapped(5));
  // Their IL offsets still count for the greatest one.
  CHECK(exact(map, 12) == IlPosition{.il = 30, .mark = IlMark::epilog});
  CHECK(map.boundaries().size() == 5);
  const IlMap only_calls({{4, 9, call}});
  CHECK(exact(only_calls, 10) == IlPosition{.mark = IlMark::before_first});
}

TEST_CASE("of several boundaries at one offset the smallest counts") {
  CHECK(exact(IlMap({{0, 5, 0}, {0, 3, 0}, {0, 9, 0}}), 0) == mapped(3));
  CHECK(exact(IlMap({{0, 5, 0}, {0, il_epilog, 0}}), 0) == IlPosition{.il = 5, .mark = IlMark::epilog});
  CHECK(exact(IlMap({{0, il_prolog, 0}, {0, 0, 0}}), 0) == IlPosition{.mark = IlMark::prolog});
  // "No mapping" replaces nothing, and is replaced only by what is smaller.
  CHECK(exact(IlMap({{0, 5, 0}, {0, il_no_mapping, 0}}), 0) == mapped(5));
  CHECK(exact(IlMap({{0, il_no_mapping, 0}, {0, 5, 0}}), 0) == IlPosition{.mark = IlMark::no_mapping});
  CHECK(exact(IlMap({{0, il_no_mapping, 0}, {0, il_epilog, 0}}), 0) ==
        IlPosition{.il = 0, .mark = IlMark::epilog});
}

TEST_CASE("code that the JIT added has no IL") {
  const IlMap map({{0, 4, 0}, {8, il_no_mapping, 0}, {12, 4, 0}});
  CHECK(exact(map, 8) == IlPosition{.mark = IlMark::no_mapping});
  CHECK(exact(map, 12) == mapped(4));
}

TEST_CASE("stretches of code and of one IL offset") {
  const IlMap map({{2, il_prolog, 0}, {4, 0, 0}, {6, 7, call}, {9, 7, 0}, {9, 8, 0}, {16, 0, 0}, {20, 7, 0}});
  const auto all = map.stretches();
  REQUIRE(all.size() == 5);
  CHECK(all[0].begin == 2);
  CHECK(all[0].end == 4);
  CHECK(all[0].position.mark == IlMark::prolog);
  CHECK(all[2].begin == 9);
  CHECK(all[2].end == 16);
  CHECK(all[2].position == mapped(7));
  CHECK(all[4].end == IlMap::open_end);
  const auto zero = map.stretches_of(0);
  REQUIRE(zero.size() == 2);
  CHECK(zero[0].begin == 4);
  CHECK(zero[0].end == 9);
  CHECK(zero[1].begin == 16);
  CHECK(zero[1].end == 20);
  CHECK(map.stretches_of(8).empty());
  CHECK(map.stretches_of(7).size() == 2);
}

TEST_CASE("words of marks") {
  CHECK(to_string(IlMark::none) == "none");
  CHECK(to_string(IlMark::before_first) == "before_first");
  CHECK(to_string(IlMark::prolog) == "prolog");
  CHECK(to_string(IlMark::epilog) == "epilog");
  CHECK(to_string(IlMark::no_mapping) == "no_mapping");
  CHECK(to_string(IlMark::mapped) == "mapped");
}
