#include "core/describe/called_methods.h"

#include <catch2/catch.hpp>

using namespace clr;

namespace {
SequencePoint point(std::uint32_t il, std::uint32_t line) {
  return {.il_offset = il, .document = 1, .start_line = line};
}
const std::vector<SequencePoint> points = {
    point(0, 10), point(8, 11), {.il_offset = 12, .hidden = true}, point(16, 12), point(24, 11)};
} // namespace

TEST_CASE("called methods: the statements of a line, each up to the next one") {
  const std::vector<std::uint32_t> all = {0, 8, 16, 24};
  CHECK(ranges_of_line(points, 3, all) == std::vector<IlRange>{{0, 8}});
  CHECK(ranges_of_line(points, 9, all) == std::vector<IlRange>{{8, 16}, {24, UINT32_MAX}});
  CHECK(ranges_of_line({}, 9, all).empty());
  CHECK(ranges_of_line(points, 3, {}) == std::vector<IlRange>{{0, 8}}); // nothing is known of the code
}

TEST_CASE("called methods: a statement without code of its own is done by that before it") {
  // Release: `v += lambda;` leaves v on the stack, so the call of it in the next line is no place of its own.
  const std::vector<std::uint32_t> without_11 = {0, 16, 28};
  CHECK(ranges_of_line(points, 3, without_11) == std::vector<IlRange>{{0, 16}});
  CHECK(ranges_of_line(points, 17, without_11) == std::vector<IlRange>{{16, 24}});
  const std::vector<std::uint32_t> first_alone = {0};
  CHECK(ranges_of_line(points, 0, first_alone) == std::vector<IlRange>{{0, UINT32_MAX}});
}

TEST_CASE("called methods: the finally block of an iterator is a part of it") {
  CHECK(is_part_of_iterator("Ns.Type+<Lines>d__3.<>m__Finally1"));
  CHECK_FALSE(is_part_of_iterator("Ns.Type+<Lines>d__3.MoveNext"));
  CHECK_FALSE(is_part_of_iterator("Ns.Type.Finally1"));
}
