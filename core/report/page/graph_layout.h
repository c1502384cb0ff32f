// Where the nodes of a small graph are drawn: in layers, so that edges lead from one layer to the next, as
// far as there are no cycles. Source: Sugiyama, Tagawa, Toda, "Methods for Visual Understanding of
// Hierarchical System Structures" (1981).
#pragma once

#include <cstddef>
#include <vector>

namespace clr {

struct GraphArrow {
  std::size_t from = 0, to = 0; // numbers of nodes
};

struct GraphPlace {
  std::size_t layer = 0;
  double row = 0; // within the layer; whole numbers, or halves
};

struct GraphLayout {
  std::vector<GraphPlace> nodes;
  // Of each arrow the places that its line goes through, from its first node to its last; a line that passes
  // layers has a place of its own in each of them.
  std::vector<std::vector<GraphPlace>> lines;
  std::size_t layers = 0;
  double rows = 0; // of the largest layer
};

// Arrows of a cycle that must lead back do so; an arrow from a node to itself is a line of one place, twice.
// Arrows whose nodes do not exist have no line. Time: that of nodes times arrows at most, so both must be
// few.
GraphLayout lay_out(std::size_t nodes, const std::vector<GraphArrow>& arrows);

} // namespace clr
