#include "core/waits/wait_graph.h"

#include <algorithm>
#include <deque>

namespace clr {
namespace {

constexpr std::uint32_t none = ~std::uint32_t{0};

} // namespace

std::uint32_t WaitGraph::add(const Node& node) {
  const auto [entry, added] = numbers_.try_emplace(node, static_cast<std::uint32_t>(nodes_.size()));
  if (added) nodes_.push_back(node);
  return entry->second;
}

void WaitGraph::connect(std::uint32_t from, std::uint32_t to, std::size_t why) {
  edges_.push_back({from, to, why});
}

std::vector<std::vector<std::size_t>> WaitGraph::outgoing() const {
  std::vector<std::vector<std::size_t>> out(nodes_.size());
  for (std::size_t i = 0; i < edges_.size(); ++i) out[edges_[i].from].push_back(i);
  return out;
}

// Tarjan's algorithm with a stack of its own: chains of waits may be as long as memory allows.
std::vector<std::uint32_t> WaitGraph::components() const {
  const std::vector<std::vector<std::size_t>> out = outgoing();
  std::vector<std::uint32_t> component(nodes_.size(), none), low(nodes_.size(), 0),
      order(nodes_.size(), none);
  std::vector<std::uint32_t> open;
  std::vector<bool> is_open(nodes_.size());
  std::uint32_t next = 0, parts = 0;
  struct Visit {
    std::uint32_t node;
    std::size_t edge;
  };
  for (std::uint32_t root = 0; root < nodes_.size(); ++root) {
    if (order[root] != none) continue;
    std::vector<Visit> visits{{root, 0}};
    while (!visits.empty()) {
      const std::uint32_t node = visits.back().node;
      if (visits.back().edge == 0 && order[node] == none) {
        order[node] = low[node] = next++;
        open.push_back(node);
        is_open[node] = true;
      }
      if (visits.back().edge < out[node].size()) {
        const std::uint32_t to = edges_[out[node][visits.back().edge++]].to;
        if (order[to] == none)
          visits.push_back({to, 0});
        else if (is_open[to])
          low[node] = std::min(low[node], order[to]);
        continue;
      }
      if (low[node] == order[node]) {
        for (bool last = false; !last;) {
          const std::uint32_t member = open.back();
          open.pop_back();
          is_open[member] = false;
          component[member] = parts;
          last = member == node;
        }
        ++parts;
      }
      visits.pop_back();
      if (!visits.empty()) low[visits.back().node] = std::min(low[visits.back().node], low[node]);
    }
  }
  return component;
}

std::vector<std::size_t> WaitGraph::cycle_through(std::uint32_t start,
                                                  const std::vector<std::uint32_t>& component,
                                                  const std::vector<std::vector<std::size_t>>& out,
                                                  std::vector<std::size_t>& by) const {
  std::deque<std::uint32_t> waiting{start};
  while (!waiting.empty()) {
    const std::uint32_t node = waiting.front();
    waiting.pop_front();
    for (const std::size_t edge : out[node]) {
      const std::uint32_t to = edges_[edge].to;
      if (to == start) {
        std::vector<std::size_t> cycle{edge};
        for (std::uint32_t at = node; at != start; at = edges_[cycle.back()].from) cycle.push_back(by[at]);
        std::ranges::reverse(cycle);
        return cycle;
      }
      if (component[to] != component[start] || by[to] != edges_.size()) continue;
      by[to] = edge;
      waiting.push_back(to);
    }
  }
  return {};
}

std::vector<WaitGraph::Knot> WaitGraph::knots() const {
  const std::vector<std::uint32_t> component = components();
  const std::vector<std::vector<std::size_t>> out = outgoing();
  std::vector<std::vector<std::uint32_t>> parts(nodes_.size()); // by number of the component
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) parts[component[i]].push_back(i);
  std::vector<std::size_t> by(nodes_.size(), edges_.size()); // the edge that led to each node
  std::vector<bool> in_cycle(nodes_.size(), false);
  std::vector<Knot> knots;
  for (const std::vector<std::uint32_t>& part : parts) {
    if (part.empty()) continue;
    const std::uint32_t start =
        *std::ranges::min_element(part, {}, [&](std::uint32_t n) { return nodes_[n]; });
    Knot knot{.cycle = cycle_through(start, component, out, by), .others = {}};
    if (knot.cycle.empty()) continue;
    for (const std::size_t edge : knot.cycle) in_cycle[edges_[edge].from] = true;
    for (const std::uint32_t node : part) {
      if (in_cycle[node]) continue;
      const auto inside = std::ranges::find_if(
          out[node], [&](std::size_t edge) { return component[edges_[edge].to] == component[node]; });
      if (inside != out[node].end()) knot.others.push_back(*inside);
    }
    knots.push_back(std::move(knot));
  }
  std::ranges::sort(knots, {}, [&](const Knot& knot) { return nodes_[edges_[knot.cycle.front()].from]; });
  return knots;
}

} // namespace clr
