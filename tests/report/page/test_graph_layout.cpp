// Layers of a small graph: who waits stands before what it waits for.
#include "core/report/page/graph_layout.h"

#include <catch2/catch.hpp>

#include <set>

using namespace clr;

namespace {

// Every node has a place of its own, and every line goes from layer to layer between its nodes.
void check_layout(const GraphLayout& layout, const std::vector<GraphArrow>& arrows) {
  std::set<std::pair<std::size_t, double>> places;
  for (const GraphPlace& place : layout.nodes) {
    CHECK(place.layer < layout.layers);
    CHECK(place.row >= 0);
    CHECK(place.row <= layout.rows - 1);
    CHECK(places.insert({place.layer, place.row}).second);
  }
  for (std::size_t i = 0; i < arrows.size(); ++i) {
    const std::vector<GraphPlace>& line = layout.lines[i];
    REQUIRE(line.size() >= 2);
    const GraphPlace &from = layout.nodes[arrows[i].from], &to = layout.nodes[arrows[i].to];
    CHECK(line.front().layer == from.layer);
    CHECK(line.front().row == from.row);
    CHECK(line.back().layer == to.layer);
    CHECK(line.back().row == to.row);
    for (std::size_t k = 1; k < line.size() && arrows[i].from != arrows[i].to; ++k) {
      const std::size_t a = line[k - 1].layer, b = line[k].layer;
      CHECK((a > b ? a - b : b - a) == 1);
      // A line has its own place in a layer that it passes.
      if (k + 1 < line.size()) CHECK(places.insert({line[k].layer, line[k].row}).second);
    }
  }
}

} // namespace

TEST_CASE("a chain has a layer for each node") {
  const std::vector<GraphArrow> arrows{{0, 1}, {1, 2}};
  const GraphLayout layout = lay_out(3, arrows);
  check_layout(layout, arrows);
  CHECK(layout.layers == 3);
  CHECK(layout.rows == 1);
  for (std::size_t i = 0; i < 3; ++i) CHECK(layout.nodes[i].layer == i);
}

TEST_CASE("many that wait for one stand in one layer before it") {
  const std::vector<GraphArrow> arrows{{1, 0}, {2, 0}, {3, 0}, {0, 4}, {3, 4}};
  const GraphLayout layout = lay_out(5, arrows);
  check_layout(layout, arrows);
  CHECK(layout.nodes[1].layer == 0);
  CHECK(layout.nodes[2].layer == 0);
  CHECK(layout.nodes[3].layer == 0);
  CHECK(layout.nodes[0].layer == 1);
  CHECK(layout.nodes[4].layer == 2);
  CHECK(layout.lines[4].size() == 3); // past the layer between
}

TEST_CASE("one arrow of a cycle leads back") {
  // Two threads and two locks; 4 waits behind them.
  const std::vector<GraphArrow> arrows{{0, 2}, {2, 1}, {1, 3}, {3, 0}, {4, 2}};
  const GraphLayout layout = lay_out(5, arrows);
  check_layout(layout, arrows);
  std::size_t back = 0;
  for (const GraphArrow& arrow : arrows)
    if (layout.nodes[arrow.to].layer < layout.nodes[arrow.from].layer) ++back;
  CHECK(back == 1);
}

TEST_CASE("lines cross no more than they must") {
  const std::vector<GraphArrow> arrows{{0, 5}, {1, 4}, {2, 3}};
  const GraphLayout layout = lay_out(6, arrows);
  check_layout(layout, arrows);
  for (const GraphArrow& arrow : arrows) CHECK(layout.nodes[arrow.from].row == layout.nodes[arrow.to].row);
}

TEST_CASE("a node that waits for itself, nodes alone, and arrows to nowhere") {
  const std::vector<GraphArrow> arrows{{0, 0}, {1, 7}};
  const GraphLayout layout = lay_out(2, arrows);
  CHECK(layout.lines[0].size() == 2);
  CHECK(layout.lines[1].empty());
  CHECK(layout.layers == 1);
  CHECK(layout.rows == 2);
  CHECK(lay_out(0, {}).layers == 0);
}

TEST_CASE("every small graph has a sound layout") {
  // All graphs of four nodes by the bits of a number, without arrows to themselves.
  for (unsigned bits = 0; bits < 4096; ++bits) {
    std::vector<GraphArrow> arrows;
    unsigned bit = 0;
    for (std::size_t from = 0; from < 4; ++from)
      for (std::size_t to = 0; to < 4; ++to)
        if (from != to && (bits >> bit++ & 1) != 0) arrows.push_back({from, to});
    INFO(bits);
    check_layout(lay_out(4, arrows), arrows);
  }
}
