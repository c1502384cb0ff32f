// Searches in tables that are sorted by a column.
#pragma once

#include <cstdint>

namespace clr {

// The first rid in [1, rows] for which `before` is false; rows + 1 when there is none. All rows for which it
// is true must come first.
template<typename Before>
std::uint32_t partition_point(std::uint32_t rows, Before&& before) {
  std::uint32_t low = 1, high = rows + 1;
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (before(middle))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

} // namespace clr
