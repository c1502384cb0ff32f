#include "core/report/page/graph_layout.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace clr {
namespace {

constexpr unsigned sweeps = 8; // over all layers, for fewer crossings

using Neighbours = std::vector<std::vector<std::size_t>>;

// Which arrows lead back to a node from which they are reached.
std::vector<bool> leading_back(std::size_t nodes, const std::vector<GraphArrow>& arrows) {
  Neighbours out(nodes);
  for (std::size_t i = 0; i < arrows.size(); ++i)
    if (arrows[i].from != arrows[i].to) out[arrows[i].from].push_back(i);
  std::vector<std::size_t> into(nodes), order(nodes);
  for (const GraphArrow& arrow : arrows) ++into[arrow.to];
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Nodes that nobody leads to first: they are where a reader begins.
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return into[a] < into[b]; });
  std::vector<bool> back(arrows.size());
  enum class Mark : std::uint8_t { fresh, open, done };
  std::vector<Mark> marks(nodes, Mark::fresh);
  struct Visit {
    std::size_t node, next;
  };
  std::vector<Visit> path;
  for (const std::size_t start : order) {
    if (marks[start] != Mark::fresh) continue;
    marks[start] = Mark::open;
    path.push_back({start, 0});
    while (!path.empty()) {
      Visit& visit = path.back();
      if (visit.next == out[visit.node].size()) {
        marks[visit.node] = Mark::done;
        path.pop_back();
        continue;
      }
      const std::size_t arrow = out[visit.node][visit.next++];
      const std::size_t to = arrows[arrow].to;
      if (marks[to] == Mark::open) back[arrow] = true;
      if (marks[to] != Mark::fresh) continue;
      marks[to] = Mark::open;
      path.push_back({to, 0});
    }
  }
  return back;
}

// The layer of each node: one behind the last of those that lead to it.
std::vector<std::size_t> layers_of(std::size_t nodes, const std::vector<GraphArrow>& forward) {
  Neighbours out(nodes);
  std::vector<std::size_t> into(nodes), layers(nodes);
  for (const GraphArrow& arrow : forward) {
    out[arrow.from].push_back(arrow.to);
    ++into[arrow.to];
  }
  std::vector<std::size_t> ready;
  for (std::size_t i = 0; i < nodes; ++i)
    if (into[i] == 0) ready.push_back(i);
  for (std::size_t i = 0; i < ready.size(); ++i)
    for (const std::size_t to : out[ready[i]]) {
      layers[to] = std::max(layers[to], layers[ready[i]] + 1);
      if (--into[to] == 0) ready.push_back(to);
    }
  return layers;
}

// Nodes and the places that lines have in layers which they pass.
class Layers {
public:
  explicit Layers(const std::vector<std::size_t>& layers) : layer_(layers) {
    for (const std::size_t layer : layers) grow(layer);
    for (std::size_t i = 0; i < layers.size(); ++i) rows_[layers[i]].push_back(i);
    before_.resize(layers.size());
    behind_.resize(layers.size());
  }

  // The points of a line from the earlier node to the later one.
  std::vector<std::size_t> add_line(std::size_t from, std::size_t to) {
    std::vector<std::size_t> points{from};
    for (std::size_t layer = layer_[from] + 1; layer < layer_[to]; ++layer) {
      points.push_back(layer_.size());
      rows_[layer].push_back(layer_.size());
      layer_.push_back(layer);
      before_.emplace_back();
      behind_.emplace_back();
    }
    points.push_back(to);
    for (std::size_t i = 1; i < points.size(); ++i) {
      behind_[points[i - 1]].push_back(points[i]);
      before_[points[i]].push_back(points[i - 1]);
    }
    return points;
  }

  // Orders each layer by the middle of the neighbours in the layer beside it, forward and backward by turns.
  void untangle() {
    index_.resize(layer_.size());
    for (const std::vector<std::size_t>& row : rows_) number(row);
    for (unsigned sweep = 0; sweep < sweeps; ++sweep)
      for (std::size_t i = 0; i < rows_.size(); ++i)
        order(rows_[sweep % 2 == 0 ? i : rows_.size() - 1 - i], sweep % 2 == 0 ? before_ : behind_);
  }

  // Shorter layers stand in the middle.
  GraphPlace place(std::size_t point) const {
    const double gap = most() - static_cast<double>(rows_[layer_[point]].size());
    return {layer_[point], index_[point] + gap / 2};
  }
  double most() const {
    std::size_t largest = 0;
    for (const std::vector<std::size_t>& row : rows_) largest = std::max(largest, row.size());
    return static_cast<double>(largest);
  }
  std::size_t count() const { return rows_.size(); }

private:
  void grow(std::size_t layer) {
    if (rows_.size() <= layer) rows_.resize(layer + 1);
  }
  void number(const std::vector<std::size_t>& row) {
    for (std::size_t i = 0; i < row.size(); ++i) index_[row[i]] = static_cast<double>(i);
  }
  void order(std::vector<std::size_t>& row, const Neighbours& beside) {
    std::vector<double> middles(layer_.size());
    for (const std::size_t point : row) {
      double sum = 0;
      for (const std::size_t other : beside[point]) sum += index_[other];
      middles[point] =
          beside[point].empty() ? index_[point] : sum / static_cast<double>(beside[point].size());
    }
    std::ranges::stable_sort(row, [&](std::size_t a, std::size_t b) { return middles[a] < middles[b]; });
    number(row);
  }

  std::vector<std::size_t> layer_;             // by point
  std::vector<std::vector<std::size_t>> rows_; // by layer: its points in their order
  Neighbours before_, behind_;                 // by point
  std::vector<double> index_;                  // by point: its row
};

} // namespace

GraphLayout lay_out(std::size_t nodes, const std::vector<GraphArrow>& arrows) {
  std::vector<std::size_t> known; // arrows whose nodes exist
  std::vector<GraphArrow> sound;
  for (std::size_t i = 0; i < arrows.size(); ++i)
    if (arrows[i].from < nodes && arrows[i].to < nodes) {
      known.push_back(i);
      sound.push_back(arrows[i]);
    }
  const std::vector<bool> back = leading_back(nodes, sound);
  std::vector<GraphArrow> forward;
  for (std::size_t i = 0; i < sound.size(); ++i)
    if (sound[i].from != sound[i].to)
      forward.push_back(back[i] ? GraphArrow{sound[i].to, sound[i].from} : sound[i]);
  Layers layers(layers_of(nodes, forward));
  std::vector<std::vector<std::size_t>> points(sound.size());
  for (std::size_t i = 0; i < sound.size(); ++i) {
    const GraphArrow& arrow = sound[i];
    if (arrow.from == arrow.to) {
      points[i] = {arrow.from, arrow.to};
    } else if (back[i]) {
      points[i] = layers.add_line(arrow.to, arrow.from);
      std::ranges::reverse(points[i]);
    } else {
      points[i] = layers.add_line(arrow.from, arrow.to);
    }
  }
  layers.untangle();
  GraphLayout layout{.nodes = {}, .lines = {}, .layers = layers.count(), .rows = layers.most()};
  for (std::size_t i = 0; i < nodes; ++i) layout.nodes.push_back(layers.place(i));
  layout.lines.resize(arrows.size());
  for (std::size_t i = 0; i < sound.size(); ++i)
    for (const std::size_t point : points[i]) layout.lines[known[i]].push_back(layers.place(point));
  return layout;
}

} // namespace clr
