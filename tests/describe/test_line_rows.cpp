#include "core/describe/line_rows.h"

#include <catch2/catch.hpp>

using namespace clr;

TEST_CASE("lines: the point of an IL offset, with and without hidden ones") {
  const std::vector<SequencePoint> points = {{.il_offset = 2, .document = 1, .start_line = 10},
                                             {.il_offset = 5, .hidden = true},
                                             {.il_offset = 8, .hidden = true},
                                             {.il_offset = 9, .document = 1, .start_line = 11}};
  const LinePoints lines(points);
  const auto own = [&](std::uint32_t il) { return lines.at(il).own; };
  const auto visible = [&](std::uint32_t il) { return lines.at(il).visible; };
  CHECK(own(1) == nullptr);
  CHECK(visible(1) == nullptr);
  CHECK(*own(2) == points[0]);
  CHECK(*visible(4) == points[0]);
  CHECK(*own(5) == points[1]);
  CHECK(*own(8) == points[2]);
  CHECK(*visible(8) == points[0]);
  CHECK(*own(100) == points[3]);
  CHECK(*visible(100) == points[3]);
  CHECK(LinePoints({}).at(0).own == nullptr);
  CHECK(point_at(points, 1) == nullptr);
  CHECK(point_at(points, 8) == &points[2]);
  CHECK(point_at({}, 0) == nullptr);
  const LinePoints hidden({{.il_offset = 0, .hidden = true}});
  CHECK(hidden.at(3).own->hidden);
  CHECK(hidden.at(3).visible == nullptr);
}

TEST_CASE("lines: a method of nothing but hidden points is not walked for each of them") {
  constexpr std::uint32_t count = 300'000;
  std::vector<SequencePoint> points{{.il_offset = 0, .document = 1, .start_line = 10}};
  for (std::uint32_t i = 1; i < count; ++i) points.push_back({.il_offset = i, .hidden = true});
  const LinePoints lines(points);
  std::uint32_t right = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const LinePoint point = lines.at(i);
    right += point.own->il_offset == i && point.visible->start_line == 10 ? 1 : 0;
  }
  CHECK(right == count);
}
