// What fills the heap, as a picture of tiles.
#pragma once

#include "core/report/page/html_writer.h"

#include <cstdint>
#include <string>
#include <vector>

namespace clr {

struct HeapTile {
  std::string name;
  std::string text; // that is shown where the tile is large enough
  std::uint64_t bytes = 0;
};

// The tiles as SVG; the largest should come first.
void draw(HtmlWriter& html, const std::vector<HeapTile>& tiles);

} // namespace clr
