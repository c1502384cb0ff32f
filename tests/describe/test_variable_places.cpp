// Where variables mean something and where they are.
#include "core/describe/variable_places.h"

#include <catch2/catch.hpp>

using namespace clr;

namespace {

constexpr std::uint8_t stack_empty = IlBoundary::stack_empty;

// Prologue to 4; IL 0, 10, 20; code without IL; IL 25; epilogue; a funclet at 60 with IL 40 from 63 on.
IlMap sample_map() {
  return IlMap({{0, il_prolog, stack_empty},
                {4, 0, stack_empty},
                {10, 10, stack_empty},
                {20, 20, stack_empty},
                {28, il_no_mapping, stack_empty},
                {32, 25, stack_empty},
                {40, 5, stack_empty},
                {50, il_epilog, stack_empty},
                {60, 40, stack_empty},
                {63, 40, stack_empty}});
}

VariableLocation on_stack(std::int32_t offset) {
  return {.home = VariableHome::stack, .base = 5, .offset = offset};
}

} // namespace

TEST_CASE("prologues hold no variables", "[publish][variables]") {
  CHECK(code_after_prologues(sample_map(), {0, 60}, 80) == std::vector<NativeRange>{{4, 60}, {60, 80}});
  CHECK(code_after_prologues(sample_map(), {}, 80) == std::vector<NativeRange>{{4, 80}});
  // Without a map nobody knows where the prologue ends.
  CHECK(code_after_prologues(IlMap(), {0}, 80).empty());
  // Entries beyond the code.
  CHECK(code_after_prologues(sample_map(), {0, 500}, 80) == std::vector<NativeRange>{{4, 80}});
  // Of a method that has nothing else the parameters stay where they came in; of funclets that is not known.
  CHECK(code_after_prologues(IlMap({{0, il_prolog, stack_empty}}), {0}, 80) ==
        std::vector<NativeRange>{{0, 80}});
  CHECK(code_after_prologues(IlMap({{0, il_prolog, stack_empty}}), {0, 40}, 80).empty());
  // A funclet whose map begins with a prologue.
  const IlMap marked({{0, il_prolog, stack_empty},
                      {4, 0, stack_empty},
                      {60, il_prolog, stack_empty},
                      {66, 40, stack_empty}});
  CHECK(code_after_prologues(marked, {0, 60}, 80) == std::vector<NativeRange>{{4, 60}, {66, 80}});
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
