// Boxes of a treemap: their areas are as the weights, they fill the whole and do not overlap.
#include "core/report/page/treemap.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using namespace clr;

namespace {

void check_boxes(const std::vector<double>& weights, const PageBox& whole) {
  const std::vector<PageBox> boxes = squarify(weights, whole);
  REQUIRE(boxes.size() == weights.size());
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  double area = 0;
  const double near = whole.area() * 1e-9;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    INFO(i);
    area += boxes[i].area();
    CHECK(std::abs(boxes[i].area() - whole.area() * weights[i] / total) < near);
    CHECK(boxes[i].x > whole.x - 1e-6);
    CHECK(boxes[i].y > whole.y - 1e-6);
    CHECK(boxes[i].x + boxes[i].width < whole.x + whole.width + 1e-6);
    CHECK(boxes[i].y + boxes[i].height < whole.y + whole.height + 1e-6);
    for (std::size_t k = 0; k < i; ++k) {
      const PageBox &a = boxes[i], &b = boxes[k];
      const double wide = std::min(a.x + a.width, b.x + b.width) - std::max(a.x, b.x);
      const double high = std::min(a.y + a.height, b.y + b.height) - std::max(a.y, b.y);
      INFO(k);
      CHECK((wide < 1e-6 || high < 1e-6));
    }
  }
  CHECK(std::abs(area - whole.area()) < near);
}

} // namespace

TEST_CASE("boxes fill the whole by their weights") {
  check_boxes({6, 6, 4, 3, 2, 2, 1}, {0, 0, 6, 4});
  check_boxes({1}, {5, 7, 100, 20});
  check_boxes({1, 1, 1, 1}, {0, 0, 20, 20});
  check_boxes({1e12, 1, 1, 1}, {0, 0, 1200, 400});
  std::vector<double> many;
  for (unsigned i = 60; i > 0; --i) many.push_back(i * i * i);
  check_boxes(many, {0, 0, 1200, 400});
  std::ranges::reverse(many); // the order is not needed
  check_boxes(many, {0, 0, 400, 1200});
}

TEST_CASE("boxes are nearly squares") {
  // The example of the paper: its worst ratio is 25/9 ... 3.
  const std::vector<double> weights{6, 6, 4, 3, 2, 2, 1};
  for (const PageBox& box : squarify(weights, {0, 0, 6, 4}))
    CHECK(std::max(box.width / box.height, box.height / box.width) < 3.01);
}

TEST_CASE("a weight that is no positive number has no box") {
  const std::vector<double> weights{
      2, 0, -1, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 2};
  const std::vector<PageBox> boxes = squarify(weights, {0, 0, 4, 1});
  CHECK(boxes[0].area() == Approx(2));
  CHECK(boxes[5].area() == Approx(2));
  for (const std::size_t i : {1, 2, 3, 4}) CHECK(boxes[i].area() == 0);
  CHECK(squarify({}, {0, 0, 4, 1}).empty());
  CHECK(squarify(weights, {0, 0, 0, 1})[0].area() == 0);
}
