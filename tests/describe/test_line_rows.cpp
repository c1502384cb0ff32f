#include "core/describe/line_rows.h"

#include <catch2/catch.hpp>

using namespace clr;

TEST_CASE("lines: the point of an IL offset, with and without hidden ones") {
  const std::vector<SequencePoint> points = {{.il_offset = 2, .document = 1, .start_line = 10},
                                             {.il_offset = 5, .hidden = true},
                                             {.il_offset = 8, .hidden = true},
                                             {.il_offset = 9, .document = 1, .start_line = 11}};
  CHECK(point_at(points, 1).own == nullptr);
  CHECK(point_at(points, 1).visible == nullptr);
  CHECK(point_at(points, 2).own == &points[0]);
  CHECK(point_at(points, 4).visible == &points[0]);
  CHECK(point_at(points, 5).own == &points[1]);
  CHECK(point_at(points, 8).own == &points[2]);
  CHECK(point_at(points, 8).visible == &points[0]);
  CHECK(point_at(points, 100).own == &points[3]);
  CHECK(point_at({}, 0).own == nullptr);
  const std::vector<SequencePoint> hidden = {{.il_offset = 0, .hidden = true}};
  CHECK(point_at(hidden, 3).own == &hidden[0]);
  CHECK(point_at(hidden, 3).visible == nullptr);
}
