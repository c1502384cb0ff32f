#include "core/heap/heap_dominators.h"

#include <algorithm>

namespace clr {
namespace {

constexpr std::size_t stride = 1 << 20; // objects between two calls of progress
constexpr std::size_t most_visit_hints = 4;

} // namespace

class HeapDominators::Builder {
public:
  Builder(HeapDominators& made, HeapGraph& graph, const HeapWalkOptions& options,
          const HeapRootGroups* groups)
      : made_(made), graph_(graph), options_(options), groups_(groups), count_(graph.index().count()) {}

  bool build(std::span<const std::uint32_t> roots) {
    made_.places_.assign(std::size_t{count_} + (groups_ == nullptr ? 0 : groups_->count), 0);
    made_.objects_.reserve(made_.places_.size() + 1);
    parents_.reserve(made_.places_.size() + 1);
    cursors_.reserve(made_.places_.size() + 1);
    made_.objects_.assign(1, none);
    parents_.assign(1, 0);
    is_root_.assign(count_, false);
    for (const std::uint32_t root : roots)
      if (root < count_) is_root_[root] = true;
    if (groups_ == nullptr) {
      for (const std::uint32_t root : roots)
        if (root < count_ && made_.places_[root] == 0 && !visit_from(root)) return false;
    } else {
      take_groups(roots);
      for (std::uint32_t group = 0; group < groups_->count; ++group)
        if (!visit_from(count_ + group)) return false;
    }
    made_.dominators_ = parents_;
    return find_semidominators() && find_dominators();
  }

private:
  bool go_on(std::size_t done) {
    return done % stride != 0 || !options_.progress || options_.progress(done, 2 * made_.places_.size());
  }

  using Pair = std::pair<std::uint32_t, std::uint32_t>;

  // What each group holds, and what holds each root.
  void take_groups(std::span<const std::uint32_t> roots) {
    std::vector<Pair> held; // group, object
    for (std::size_t i = 0; i < roots.size(); ++i)
      if (roots[i] < count_) held.emplace_back(groups_->of_root[i], roots[i]);
    std::ranges::sort(held);
    held.erase(std::ranges::unique(held).begin(), held.end());
    group_begins_.assign(std::size_t{groups_->count} + 1, 0);
    for (const auto& [group, object] : held) {
      ++group_begins_[group + 1];
      group_targets_.push_back(object);
      holders_.emplace_back(object, group);
    }
    for (std::uint32_t i = 0; i < groups_->count; ++i) group_begins_[i + 1] += group_begins_[i];
    std::ranges::sort(holders_);
  }

  bool is_cut(std::uint32_t object) const {
    return groups_ != nullptr && object < groups_->cut.size() && groups_->cut[object];
  }

  std::span<const std::uint32_t> targets_of(std::uint32_t object) const {
    if (object < count_) return is_cut(object) ? std::span<const std::uint32_t>() : graph_.out().of(object);
    const std::uint32_t group = object - count_;
    return std::span(group_targets_)
        .subspan(group_begins_[group], group_begins_[group + 1] - group_begins_[group]);
  }

  void enter(std::uint32_t object, std::uint32_t parent) {
    made_.places_[object] = static_cast<std::uint32_t>(made_.objects_.size());
    made_.objects_.push_back(object);
    parents_.push_back(parent);
    cursors_.push_back(0);
    const auto targets = targets_of(object);
    for (std::size_t i = 0; i < std::min(targets.size(), most_visit_hints); ++i) {
      will_need(&made_.places_[targets[i]]);
      if (targets[i] < count_) graph_.out().will_ask(targets[i]);
    }
  }

  // Depth first, by the places of parents instead of by a stack.
  bool visit_from(std::uint32_t root) {
    if (cursors_.empty()) cursors_.push_back(0);
    enter(root, 0);
    for (std::uint32_t at = made_.places_[root]; at != 0;) {
      const auto targets = targets_of(made_.objects_[at]);
      std::uint32_t& cursor = cursors_[at];
      while (cursor < targets.size() && made_.places_[targets[cursor]] != 0) ++cursor;
      if (cursor == targets.size()) {
        at = parents_[at];
        continue;
      }
      const std::uint32_t target = targets[cursor++];
      enter(target, at);
      at = made_.places_[target];
      if (!go_on(at)) return false;
    }
    return true;
  }

  // The place with the least semidominator between `place` and the tree's root, among those that are linked:
  // those from `linked` on.
  std::uint32_t evaluate(std::uint32_t place, std::uint32_t linked) {
    if (parents_[place] < linked) return labels_[place];
    path_.clear();
    std::uint32_t top = place;
    while (parents_[top] >= linked) {
      path_.push_back(top);
      top = parents_[top];
    }
    std::uint32_t parent = top;
    std::uint32_t label = labels_[top];
    const std::uint32_t above = parents_[top];
    for (; !path_.empty(); path_.pop_back()) {
      const std::uint32_t next = path_.back();
      parents_[next] = above;
      if (semi_[label] < semi_[labels_[next]])
        labels_[next] = label;
      else
        label = labels_[next];
      parent = next;
    }
    return labels_[parent];
  }

  // What lies far from each other is asked for some steps before it is used.
  void hint(const HeapEdges& in, std::uint32_t place) const {
    if (place <= 3 * look_ahead) return;
    const auto object = [&](std::uint32_t steps) { return made_.objects_[place - steps]; };
    if (object(3 * look_ahead) < count_) in.will_ask(object(3 * look_ahead));
    if (object(2 * look_ahead) < count_) in.will_read(object(2 * look_ahead));
    if (object(look_ahead) < count_ && !in.of(object(look_ahead)).empty())
      will_need(&made_.places_[in.of(object(look_ahead)).front()]);
  }

  bool find_semidominators() {
    const auto count = static_cast<std::uint32_t>(made_.objects_.size());
    labels_ = std::move(cursors_);
    labels_.resize(count);
    semi_.resize(count);
    for (std::uint32_t place = 0; place < count; ++place) labels_[place] = semi_[place] = place;
    const HeapEdges& in = graph_.in();
    for (std::uint32_t place = count - 1; place > 0; --place) {
      hint(in, place);
      const std::uint32_t object = made_.objects_[place];
      const bool is_root = object < count_ && is_root_[object];
      std::uint32_t least = is_root && groups_ == nullptr ? 0 : made_.dominators_[place];
      const auto meet = [&](std::uint32_t from) {
        const std::uint32_t before = made_.places_[from];
        if (before == 0 || least == 0) return;
        least = std::min(least, before <= place ? before : semi_[evaluate(before, place + 1)]);
      };
      if (object < count_)
        for (const std::uint32_t from : in.of(object))
          if (!is_cut(from)) meet(from);
      if (is_root && groups_ != nullptr)
        for (auto at = std::ranges::lower_bound(holders_, Pair{object, 0});
             at != holders_.end() && at->first == object; ++at)
          meet(count_ + at->second);
      semi_[place] = least;
      if (!go_on(made_.places_.size() + count - place)) return false;
    }
    return true;
  }

  bool find_dominators() {
    const auto count = static_cast<std::uint32_t>(made_.objects_.size());
    for (std::uint32_t place = 1; place < count; ++place) {
      std::uint32_t& dominator = made_.dominators_[place];
      while (dominator > semi_[place]) dominator = made_.dominators_[dominator];
    }
    return true;
  }

  HeapDominators& made_;
  HeapGraph& graph_;
  const HeapWalkOptions& options_;
  const HeapRootGroups* groups_;
  std::uint32_t count_;                                     // of objects
  std::vector<std::uint32_t> group_begins_, group_targets_; // by group, the objects that it holds
  std::vector<Pair> holders_;                               // object, group; ascending
  std::vector<bool> is_root_;                               // by object
  LargeArray<std::uint32_t> parents_; // by place, in the tree of the visit; later compressed
  LargeArray<std::uint32_t> cursors_; // by place: the references that were followed
  LargeArray<std::uint32_t> labels_, semi_;
  std::vector<std::uint32_t> path_;
};

HeapDominators::HeapDominators(HeapGraph& graph, std::span<const std::uint32_t> roots,
                               const HeapWalkOptions& options, const HeapRootGroups* groups) {
  interrupted_ = !Builder(*this, graph, options, groups).build(roots);
  if (!interrupted_) return;
  std::ranges::fill(places_, 0);
  objects_.assign(1, none);
  dominators_.assign(1, 0);
}

} // namespace clr
