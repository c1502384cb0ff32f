// Where variables mean something and where they are.
#include "core/describe/variable_places.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <string>

using namespace clr;

namespace {

constexpr std::uint8_t stack_empty = IlBoundary::stack_empty;

// Prologue to 4; IL 0, 10, 20; code without IL; IL 25; epilogue; a funclet at 60 with IL 40 from 63 on.
std::vector<IlStretch> sample_map() {
  return IlMap({{0, il_prolog, stack_empty},
                {4, 0, stack_empty},
                {10, 10, stack_empty},
                {20, 20, stack_empty},
                {28, il_no_mapping, stack_empty},
                {32, 25, stack_empty},
                {40, 5, stack_empty},
                {50, il_epilog, stack_empty},
                {60, 40, stack_empty},
                {63, 40, stack_empty}})
      .stretches();
}

std::vector<DebugVariableRange> homes_of(std::vector<debuginfo::Variable> variables, std::int32_t number,
                                         const std::vector<NativeRange>& where,
                                         const std::vector<NativeRange>& code) {
  std::ranges::stable_sort(variables, {}, &debuginfo::Variable::number);
  return clr::homes_of(entries_of(variables, number), where, code);
}

VariableLocation on_stack(std::int32_t offset) {
  return {.home = VariableHome::stack, .base = 5, .offset = offset};
}

} // namespace

TEST_CASE("prologues hold no variables", "[publish][variables]") {
  CHECK(code_after_prologues(sample_map(), {0, 60}, 80) == std::vector<NativeRange>{{4, 60}, {60, 80}});
  CHECK(code_after_prologues(sample_map(), {}, 80) == std::vector<NativeRange>{{4, 80}});
  // Without a map nobody knows where the prologue ends.
  CHECK(code_after_prologues({}, {0}, 80).empty());
  // Entries beyond the code.
  CHECK(code_after_prologues(sample_map(), {0, 500}, 80) == std::vector<NativeRange>{{4, 80}});
  // Of a method that has nothing else the parameters stay where they came in; of funclets that is not known.
  CHECK(code_after_prologues(IlMap({{0, il_prolog, stack_empty}}).stretches(), {0}, 80) ==
        std::vector<NativeRange>{{0, 80}});
  CHECK(code_after_prologues(IlMap({{0, il_prolog, stack_empty}}).stretches(), {0, 40}, 80).empty());
  // A funclet whose map begins with a prologue.
  const IlMap marked({{0, il_prolog, stack_empty},
                      {4, 0, stack_empty},
                      {60, il_prolog, stack_empty},
                      {66, 40, stack_empty}});
  CHECK(code_after_prologues(marked.stretches(), {0, 60}, 80) == std::vector<NativeRange>{{4, 60}, {66, 80}});
}

TEST_CASE("the code of a scope", "[publish][variables]") {
  // Code without IL belongs to the scope around it, and to none at its end.
  CHECK(code_of_scope(sample_map(), {10, 30}, 80) == std::vector<NativeRange>{{10, 40}});
  CHECK(code_of_scope(sample_map(), {10, 21}, 80) == std::vector<NativeRange>{{10, 28}});
  // In several places: a stretch that was moved.
  CHECK(code_of_scope(sample_map(), {0, 11}, 80) == std::vector<NativeRange>{{4, 20}, {40, 50}});
  CHECK(code_of_scope(sample_map(), {40, 41}, 80) == std::vector<NativeRange>{{60, 80}});
  CHECK(code_of_scope(sample_map(), {100, 200}, 80).empty());
  CHECK(code_of_scope(sample_map(), {0, 100}, 3).empty());
}

TEST_CASE("homes are clipped and disjoint", "[publish][variables]") {
  const std::vector<debuginfo::Variable> variables{
      {.number = 1, .begin = 0, .end = 8, .location = {.home = VariableHome::reg, .reg = 7}},
      {.number = 1, .begin = 6, .end = 80, .location = on_stack(-8)},
      {.number = 2, .begin = 0, .end = 80, .location = on_stack(-16)},
      {.number = 1, .begin = 9, .end = 9, .location = on_stack(-99)},
  };
  const auto first = homes_of(variables, 1, {{4, 60}}, {});
  REQUIRE(first.size() == 2);
  CHECK(first[0].begin == 4);
  CHECK(first[0].end == 8);
  CHECK(first[0].location.home == VariableHome::reg);
  CHECK(first[1].begin == 8); // where the first one ends
  CHECK(first[1].end == 60);
  CHECK(first[1].location == on_stack(-8));
  const auto second = homes_of(variables, 2, {{4, 20}, {20, 30}, {60, 80}}, {});
  REQUIRE(second.size() == 2); // neighbours of one place are one
  CHECK(second[0].end == 30);
  CHECK(second[1].begin == 60);
  CHECK(homes_of(variables, 3, {{0, 80}}, {}).empty());
}

// LLDB 14 looks for the variables of a caller at the address that the call returns to.
TEST_CASE("a home on the stack holds where the last call in it returns to", "[publish][variables]") {
  const VariableLocation in_register{.home = VariableHome::reg, .reg = 3};
  const std::vector<NativeRange> code{{4, 60}, {63, 80}};
  const auto end_of_last = [&](const std::vector<debuginfo::Variable>& variables,
                               const std::vector<NativeRange>& where) {
    const auto homes = homes_of(variables, 1, where, code);
    return homes.empty() ? 0 : homes.back().end;
  };
  const auto variable = [](std::uint32_t begin, std::uint32_t end, const VariableLocation& location) {
    return debuginfo::Variable{.number = 1, .begin = begin, .end = end, .location = location};
  };
  CHECK(end_of_last({variable(0, 50, on_stack(-8))}, code) == 51);
  // A register may be another variable's there.
  CHECK(end_of_last({variable(0, 50, in_register)}, code) == 50);
  // The next byte is in a prologue, or is no code of the method.
  CHECK(end_of_last({variable(0, 60, on_stack(-8))}, code) == 60);
  CHECK(end_of_last({variable(0, 80, on_stack(-8))}, code) == 80);
  // The end of its scope.
  CHECK(end_of_last({variable(0, 50, on_stack(-8))}, {{10, 20}}) == 21);
  // Another home follows at once, or one byte later.
  const auto moved = homes_of({variable(0, 50, on_stack(-8)), variable(50, 55, in_register)}, 1, code, code);
  REQUIRE(moved.size() == 2);
  CHECK(moved[0].end == 50);
  const auto later = homes_of({variable(0, 50, on_stack(-8)), variable(51, 55, in_register)}, 1, code, code);
  REQUIRE(later.size() == 2);
  CHECK(later[0].end == 51);
  CHECK(later[1].begin == 51);
  // Within one stretch of a scope; the next stretch of code may be the prologue of a funclet.
  const std::vector<DebugVariableRange> homes{{.begin = 4, .end = 60, .location = in_register}};
  CHECK(within(homes, {10, 20}, code).at(0).end == 21);
  CHECK(within(homes, {10, 60}, code).at(0).end == 60);
  CHECK(within(homes, {10, 20}, {}).at(0).end == 20);
}

TEST_CASE("entries that overlap each other share the code as their order tells", "[publish][variables]") {
  const auto entry = [](std::uint32_t begin, std::uint32_t end, std::int32_t offset) {
    return debuginfo::Variable{.number = 1, .begin = begin, .end = end, .location = on_stack(offset)};
  };
  const std::vector<debuginfo::Variable> entries{entry(10, 90, 0), entry(0, 20, 1), entry(5, 50, 2),
                                                 entry(45, 100, 3), entry(60, 70, 4)};
  std::string text;
  for (const DebugVariableRange& home : homes_of(entries, 1, {{2, 30}, {40, 95}, {95, 120}}, {}))
    text += fmt::format(" {}-{}:{}", home.begin, home.end, home.location.offset);
  // In each range: what begins before it by the order of the block, then what begins in it.
  CHECK(text == " 2-20:1 20-30:2 40-90:0 90-100:3");
}

TEST_CASE("homes are those of all pieces in their order, each cut by the ones before",
          "[publish][variables]") {
  std::mt19937 random(7);
  const auto below = [&](std::uint32_t most) { return static_cast<std::uint32_t>(random() % most); };
  for (unsigned round = 0; round < 2'000; ++round) {
    std::vector<debuginfo::Variable> entries;
    for (std::uint32_t n = below(9); n > 0; --n) {
      const std::uint32_t begin = below(60);
      entries.push_back({.number = 1,
                         .begin = begin,
                         .end = begin + below(30),
                         .location = {.home = VariableHome::reg, .reg = below(3)}});
    }
    std::vector<NativeRange> where;
    for (std::uint32_t at = below(8); at < 90; at += below(12)) {
      const std::uint32_t end = at + 1 + below(20);
      where.push_back({at, end});
      at = end;
    }
    std::vector<DebugVariableRange> pieces, expected;
    for (const debuginfo::Variable& entry : entries)
      for (const NativeRange& range : intersect({{entry.begin, entry.end}}, where))
        pieces.push_back({.begin = range.begin, .end = range.end, .location = entry.location});
    std::ranges::stable_sort(pieces, {}, &DebugVariableRange::begin);
    for (DebugVariableRange& piece : pieces) {
      if (!expected.empty()) piece.begin = std::max(piece.begin, expected.back().end);
      if (piece.begin >= piece.end) continue;
      if (!expected.empty() && expected.back().end == piece.begin &&
          expected.back().location == piece.location)
        expected.back().end = piece.end;
      else
        expected.push_back(piece);
    }
    const std::vector<DebugVariableRange> homes = homes_of(entries, 1, where, {});
    REQUIRE(std::ranges::equal(homes, expected, [](const DebugVariableRange& a, const DebugVariableRange& b) {
      return a.begin == b.begin && a.end == b.end && a.location == b.location;
    }));
  }
}

TEST_CASE("the homes of a variable are no more than its entries and the ranges", "[publish][variables]") {
  constexpr std::uint32_t count = 50'000;
  std::vector<debuginfo::Variable> entries;
  std::vector<NativeRange> where;
  std::vector<std::uint32_t> functions;
  std::vector<IlStretch> stretches;
  for (std::uint32_t i = 0; i < count; ++i) {
    entries.push_back(
        {.number = 1, .begin = 0, .end = 2 * count, .location = on_stack(static_cast<std::int32_t>(i))});
    where.push_back({2 * i, 2 * i + 1});
    functions.push_back(2 * i);
    stretches.push_back({2 * i, 2 * i + 2, {.il = i, .mark = IlMark::mapped}});
  }
  const std::vector<DebugVariableRange> homes = homes_of(entries, 1, where, where);
  CHECK(homes.size() == count);
  CHECK(std::ranges::all_of(homes, [](const DebugVariableRange& home) { return home.location.offset == 0; }));
  CHECK(code_after_prologues(stretches, functions, 2 * count).size() == count);
  std::size_t parts = 0;
  for (const NativeRange& part : where) parts += within(homes, part, where).size();
  CHECK(parts == count);
}
