// A graph of who waits for whom, and its cycles. It knows nothing of what its nodes are.
#pragma once

#include "core/memory/platform.h"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace clr {

class WaitGraph {
public:
  enum class Kind : std::uint8_t { thread, task };
  struct Node {
    Kind kind = Kind::thread;
    std::uint64_t id = 0; // kernel id of a thread, address of a task
    friend auto operator<=>(const Node&, const Node&) = default;
  };
  struct Edge {
    std::uint32_t from = 0, to = 0;
    std::size_t why = 0; // a number of the caller's
  };

  std::uint32_t add(const Node& node);
  // `from` cannot go on before `to` does something. `why` is the caller's own.
  void connect(std::uint32_t from, std::uint32_t to, std::size_t why);

  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Edge>& edges() const { return edges_; }

  // Nodes that all wait for each other, as indexes of edges.
  struct Knot {
    std::vector<std::size_t> cycle;  // a shortest one through the smallest node, in its order
    std::vector<std::size_t> others; // one edge of each node that is in no part of it
  };
  // All knots, those with the smallest nodes first. Chains of waits may be long: no recursion, and the time
  // is linear in the size of the graph.
  std::vector<Knot> knots() const;

private:
  std::vector<std::uint32_t> components() const;
  std::vector<std::size_t> cycle_through(std::uint32_t start, const std::vector<std::uint32_t>& component,
                                         const std::vector<std::vector<std::size_t>>& out,
                                         std::vector<std::size_t>& by) const;
  std::vector<std::vector<std::size_t>> outgoing() const;

  std::vector<Node> nodes_;
  std::vector<Edge> edges_;
  std::map<Node, std::uint32_t> numbers_;
};

} // namespace clr
