// A treemap: rectangles whose areas are as their weights, as close to squares as they can be.
// Source: Bruls, Huizing, van Wijk, "Squarified Treemaps" (2000).
#pragma once

#include <span>
#include <vector>

namespace clr {

struct PageBox {
  double x = 0, y = 0, width = 0, height = 0;
  double area() const { return width * height; }
};

// A box for each weight, in the same order; together they fill `whole`. Largest weights should come first.
// A weight that is no positive number gets an empty box. Time: linear.
std::vector<PageBox> squarify(std::span<const double> weights, const PageBox& whole);

} // namespace clr
