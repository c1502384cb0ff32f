#include "core/report/page/heap_picture.h"

#include "core/memory/utf8.h"
#include "core/report/page/treemap.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace clr {
namespace {

constexpr double picture_width = 1200, picture_height = 420, letter_width = 6.7, text_height = 14;
// Light enough for dark letters, in both schemes.
constexpr std::array tile_colours = {"#a8c7fa", "#f6c7b6", "#b7e1cd", "#fde293", "#d7c4f2",
                                     "#b2dfee", "#f5b8cf", "#d3dba8", "#c9cdd3"};

std::string pixels(double value) {
  return fmt::format("{:.2f}", value);
}

// The end of a name tells more than its namespace: as many letters as fit, from where a part of it begins.
std::string short_name(const std::string& name, double width) {
  const std::size_t letters = static_cast<std::size_t>(std::max(0.0, width / letter_width));
  std::string shown = printable(name);
  if (shown.size() <= letters) return shown;
  const std::size_t arguments = std::min(shown.find_first_of("<["), shown.size());
  if (const std::size_t dot = shown.rfind('.', arguments); dot != std::string::npos) shown.erase(0, dot + 1);
  if (shown.size() <= letters) return shown;
  if (letters < 4) return {};
  return std::string(cut_utf8(shown, letters - 1)) + "\u2026";
}

void write_tile(HtmlWriter& html, const HeapTile& tile, const PageBox& box, std::size_t number) {
  html.begin("g");
  html.element("title", fmt::format("{}: {}", tile.name, tile.text));
  html.empty("rect", {{"class", "tile"},
                      {"x", pixels(box.x)},
                      {"y", pixels(box.y)},
                      {"width", pixels(box.width)},
                      {"height", pixels(box.height)},
                      {"fill", tile_colours[number % tile_colours.size()]}});
  const auto label = [&](const std::string& text, double line) {
    const double y = box.y + text_height * line;
    if (text.empty() || box.y + box.height - 3 < y) return false;
    html.element("text", text, {{"class", "label"}, {"x", pixels(box.x + 4)}, {"y", pixels(y)}});
    return true;
  };
  const double room = box.width - 8;
  const std::string size = size_text(tile.bytes);
  // Of a number all is shown, or nothing.
  if (label(short_name(tile.name, room), 1) && letter_width * static_cast<double>(size.size()) <= room)
    label(size, 2);
  html.end();
}

} // namespace

void draw(HtmlWriter& html, const std::vector<HeapTile>& tiles) {
  std::vector<double> weights;
  for (const HeapTile& tile : tiles) weights.push_back(static_cast<double>(tile.bytes));
  const std::vector<PageBox> boxes = squarify(weights, {0, 0, picture_width, picture_height});
  html.begin("div", {{"class", "wide"}});
  html.begin("svg", {{"class", "map"},
                     {"role", "img"},
                     {"width", pixels(picture_width)},
                     {"height", pixels(picture_height)},
                     {"viewBox", fmt::format("0 0 {} {}", picture_width, picture_height)}});
  html.element("title", "What fills the heap, by type");
  for (std::size_t i = 0; i < tiles.size(); ++i)
    if (boxes[i].area() > 0) write_tile(html, tiles[i], boxes[i], i);
  html.end();
  html.end();
}

} // namespace clr
