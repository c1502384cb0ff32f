#include "core/report/page/treemap.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace clr {
namespace {

bool counts(double weight) {
  return std::isfinite(weight) && weight > 0;
}

// How far the worst of a row of areas is from a square: `sum` of them along `side`. 1 is a square.
double worst(double smallest, double largest, double sum, double side) {
  const double squared = side * side;
  return std::max(squared * largest / (sum * sum), sum * sum / (squared * smallest));
}

} // namespace

std::vector<PageBox> squarify(std::span<const double> weights, const PageBox& whole) {
  std::vector<PageBox> boxes(weights.size());
  std::vector<std::size_t> order;
  double total = 0;
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (counts(weights[i])) {
      order.push_back(i);
      total += weights[i];
    }
  if (!counts(total) || whole.area() <= 0) return boxes;
  const double scale = whole.area() / total;
  PageBox free = whole;
  for (std::size_t first = 0; first < order.size();) {
    // A row takes further areas as long as its worst box gets better.
    const double side = std::min(free.width, free.height);
    double sum = 0, smallest = 0, largest = 0, best = 0;
    std::size_t last = first;
    for (; last < order.size(); ++last) {
      const double area = weights[order[last]] * scale;
      const double low = last == first ? area : std::min(smallest, area);
      const double high = last == first ? area : std::max(largest, area);
      const double ratio = worst(low, high, sum + area, side);
      if (last != first && !(ratio <= best)) break;
      best = ratio;
      smallest = low;
      largest = high;
      sum += area;
    }
    // The last row takes all that is left, so that no rounding leaves a gap.
    const bool upright = free.width >= free.height; // the row stands at the left, else it lies at the top
    const bool end = last == order.size();
    const double depth =
        end ? (upright ? free.width : free.height) : std::min(sum / side, upright ? free.width : free.height);
    double along = 0;
    for (std::size_t i = first; i < last; ++i) {
      const double length = side * (weights[order[i]] * scale / sum);
      boxes[order[i]] = upright ? PageBox{free.x, free.y + along, depth, length}
                                : PageBox{free.x + along, free.y, length, depth};
      along += length;
    }
    (upright ? free.x : free.y) += depth;
    (upright ? free.width : free.height) -= depth;
    first = last;
  }
  return boxes;
}

} // namespace clr
