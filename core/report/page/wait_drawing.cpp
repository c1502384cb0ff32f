#include "core/memory/utf8.h"
#include "core/report/page/wait_picture.h"

#include <fmt/format.h>

#include <algorithm>

namespace clr {
namespace {

// Pixels.
constexpr double box_width = 252, line_height = 14, box_margin = 8, column_gap = 64, row_gap = 18,
                 layer_gap = 44;
constexpr std::size_t box_letters = 35; // of the fixed width that fit into a box
constexpr std::size_t box_lines = 4;
constexpr std::size_t page_layers = 4; // that stand beside each other on a page

// `text` with its middle left out, so that it fits.
std::string fitted(const std::string& text) {
  const std::string shown = printable(text);
  std::vector<std::size_t> starts; // of its characters
  for (std::size_t at = 0; at < shown.size();
       at += std::max<std::size_t>(utf8_length(std::string_view(shown).substr(at)), 1))
    starts.push_back(at);
  if (starts.size() <= box_letters) return shown;
  constexpr std::size_t head = box_letters / 2 - 1, tail = box_letters - head - 1;
  return shown.substr(0, starts[head]) + "\u2026" + shown.substr(starts[starts.size() - tail]);
}

std::string number(double value) {
  return fmt::format("{:.1f}", value);
}

PageWord class_of(const PictureBox& box) {
  switch (box.kind) {
  case PictureBox::Kind::lock:
    return box.red ? PageWord("node lock red") : PageWord("node lock");
  case PictureBox::Kind::task:
    return box.red ? PageWord("node task red") : PageWord("node task");
  case PictureBox::Kind::chain:
    return "node chain";
  case PictureBox::Kind::thread:
    break;
  }
  return box.red ? PageWord("node red") : PageWord("node");
}

// The parts of a picture that no arrow connects, each as a picture, in the order of their first boxes.
std::vector<WaitPicture> parts_of(const WaitPicture& picture) {
  std::vector<std::size_t> part(picture.boxes.size());
  for (std::size_t i = 0; i < part.size(); ++i) part[i] = i;
  // The part of a box is its smallest box; few boxes need few rounds.
  for (bool changed = true; changed;) {
    changed = false;
    for (const GraphArrow& arrow : picture.arrows) {
      const std::size_t least = std::min(part[arrow.from], part[arrow.to]);
      changed = changed || part[arrow.from] != least || part[arrow.to] != least;
      part[arrow.from] = part[arrow.to] = least;
    }
  }
  std::vector<WaitPicture> parts;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i] != i) continue;
    WaitPicture one;
    std::vector<std::size_t> numbers(part.size());
    for (std::size_t k = i; k < part.size(); ++k)
      if (part[k] == i) {
        numbers[k] = one.boxes.size();
        one.boxes.push_back(picture.boxes[k]);
      }
    for (const GraphArrow& arrow : picture.arrows)
      if (part[arrow.from] == i) one.arrows.push_back({numbers[arrow.from], numbers[arrow.to]});
    parts.push_back(std::move(one));
  }
  return parts;
}

class Drawing {
public:
  Drawing(HtmlWriter& html, const WaitPicture& picture)
      : html_(html), picture_(picture), layout_(lay_out(picture.boxes.size(), picture.arrows)) {
    std::size_t lines = 1;
    for (const PictureBox& box : picture.boxes)
      lines = std::max(lines, std::min(box.lines.size(), box_lines));
    box_height_ = 2 * box_margin + line_height * static_cast<double>(lines);
    // A long chain is wider than a page.
    down_ = layout_.layers > page_layers && layout_.rows < static_cast<double>(layout_.layers);
  }

  void draw() {
    const double layers = static_cast<double>(layout_.layers);
    const double width = column(down_ ? layout_.rows : layers) - column_gap + edge;
    const double height = line(down_ ? layers : layout_.rows) - (down_ ? layer_gap : row_gap) + edge;
    html_.begin("svg", {{"role", "img"},
                        {"width", number(width)},
                        {"height", number(height)},
                        {"viewBox", fmt::format("0 0 {:.1f} {:.1f}", width, height)}});
    html_.element("title", "Who waits for whom");
    for (std::size_t i = 0; i < picture_.arrows.size(); ++i) arrow(picture_.arrows[i], layout_.lines[i]);
    for (std::size_t i = 0; i < picture_.boxes.size(); ++i) box(picture_.boxes[i], layout_.nodes[i]);
    html_.end();
  }

private:
  static constexpr double edge = 12;

  double column(double number) const { return edge + number * (box_width + column_gap); }
  double line(double number) const { return edge + number * (box_height_ + (down_ ? layer_gap : row_gap)); }
  double left(const GraphPlace& place) const {
    return column(down_ ? place.row : static_cast<double>(place.layer));
  }
  double top(const GraphPlace& place) const {
    return line(down_ ? static_cast<double>(place.layer) : place.row);
  }

  struct Point {
    double x = 0, y = 0;
  };
  // Where a line meets the side of a box that looks to the layer before it, or to the one behind it.
  Point side(const GraphPlace& place, bool behind, double shift) const {
    const double x = left(place), y = top(place);
    return down_ ? Point{x + box_width / 2 + 4 * shift, y + (behind ? box_height_ : 0)}
                 : Point{x + (behind ? box_width : 0), y + box_height_ / 2 + shift};
  }

  void box(const PictureBox& box, const GraphPlace& place) {
    html_.begin("g");
    std::string whole;
    for (const std::string& line : box.lines) whole += fmt::format("{}{}", whole.empty() ? "" : " | ", line);
    html_.element("title", whole);
    html_.empty("rect", {{"class", std::string(class_of(box).text())},
                         {"x", number(left(place))},
                         {"y", number(top(place))},
                         {"width", number(box_width)},
                         {"height", number(box_height_)},
                         {"rx", box.kind == PictureBox::Kind::thread ? "2" : "12"}});
    for (std::size_t i = 0; i < std::min(box.lines.size(), box_lines); ++i)
      html_.element("text", fitted(box.lines[i]),
                    {{"class", i == 0 ? "head" : "sub"},
                     {"x", number(left(place) + box_margin)},
                     {"y", number(top(place) + box_margin + line_height * (static_cast<double>(i) + 0.8))}});
    html_.end();
  }

  // A line leaves a box towards the next layer; where it must lead back, towards the one before, a little
  // aside.
  void arrow(const GraphArrow& ends, const std::vector<GraphPlace>& places) {
    if (places.size() < 2) return;
    const bool red = picture_.boxes[ends.from].red && picture_.boxes[ends.to].red;
    if (ends.from == ends.to) {
      const double x = left(places[0]) + box_width, y = top(places[0]) + box_height_ / 2;
      html_.empty("path", {{"class", red ? "arrow red" : "arrow"},
                           {"d", fmt::format("M{:.1f} {:.1f}c40 -30 40 46 0 18", x, y)}});
      return;
    }
    const bool back = places.back().layer < places.front().layer;
    const double shift = back ? 7 : -3;
    Point at = side(places[0], !back, shift);
    std::string path = fmt::format("M{:.1f} {:.1f}", at.x, at.y);
    for (std::size_t i = 1; i < places.size(); ++i) {
      const Point to = side(places[i], back, shift);
      const double bend_x = down_ ? 0 : (to.x - at.x) / 2, bend_y = down_ ? (to.y - at.y) / 2 : 0;
      path += fmt::format("C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", at.x + bend_x, at.y + bend_y,
                          to.x - bend_x, to.y - bend_y, to.x, to.y);
      at = to;
      if (i + 1 == places.size()) break;
      at = side(places[i], !back, shift);
      path += fmt::format("L{:.1f} {:.1f}", at.x, at.y);
    }
    html_.empty("path", {{"class", red ? "arrow red" : "arrow"}, {"d", path}});
    const double tail = back ? 9 : -9;
    html_.empty("path", {{"class", red ? "tip red" : "tip"},
                         {"d", down_ ? fmt::format("M{:.1f} {:.1f}l-4.5 {:.1f}l9 0z", at.x, at.y, tail)
                                     : fmt::format("M{:.1f} {:.1f}l{:.1f} -4.5l0 9z", at.x, at.y, tail)}});
  }

  HtmlWriter& html_;
  const WaitPicture& picture_;
  GraphLayout layout_;
  double box_height_ = 0;
  bool down_ = false; // the layers stand below each other
};

} // namespace

void draw(HtmlWriter& html, const WaitPicture& picture) {
  if (picture.boxes.empty()) return;
  html.begin("div", {{"class", "wide"}});
  for (const WaitPicture& part : parts_of(picture)) Drawing(html, part).draw();
  html.end();
}

} // namespace clr
