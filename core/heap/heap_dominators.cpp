#include "core/heap/heap_dominators.h"

#include <algorithm>

namespace clr {
namespace {

constexpr std::size_t stride = 1 << 20;         // objects between two calls of progress
constexpr std::size_t most_reference_hints = 4; // for the references of one object

} // namespace

class HeapDominators::Builder {
public:
  Builder(HeapDominators& made, HeapGraph& graph, const HeapWalkOptions& options,
          const HeapRootGroups* groups)
      : made_(made), graph_(graph), options_(options), groups_(groups), count_(graph.index().count()),
        most_(std::size_t{count_} + (groups == nullptr ? 0 : groups->count)) {}

  bool build(std::span<const std::uint32_t> roots) {
    is_root_.assign(count_, false);
    for (const std::uint32_t root : roots)
      if (root < count_) is_root_[root] = true;
    if (groups_ != nullptr) take_groups(roots);
    made_.objects_.reserve(most_ + 1);
    parents_.reserve(most_ + 1);
    cursors_.reserve(most_ + 1);
    made_.objects_.assign(1, none);
    parents_.assign(1, 0);
    cursors_.assign(1, none);
    note_references();
    if (groups_ == nullptr) {
      for (const std::uint32_t root : roots)
        if (root < count_ && !was_met(root) && !visit_from(root)) return false;
    } else {
      for (std::uint32_t group = 0; group < groups_->count; ++group)
        if (!visit_from(count_ + group)) return false;
    }
    cursors_ = {};
    made_.places_.reserve(most_);
    for (const Step& step : steps_) made_.places_.push_back(step.place & ~shared);
    steps_ = {};
    made_.dominators_ = std::move(parents_);
    return find_semidominators() && find_dominators();
  }

private:
  bool go_on(std::size_t done) {
    return done % stride != 0 || !options_.progress || options_.progress(done, 3 * most_);
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

  // So that one look at memory that lies anywhere leads from an object to the next one.
  void note_references() {
    const HeapEdges& in = graph_.in();
    steps_.reserve(most_);
    for (std::uint32_t object = 0; object < most_; ++object) {
      const auto targets = targets_of(object);
      Step step;
      if (!targets.empty()) step.first = targets.front();
      if (targets.size() > 1) step.second = targets.size() == 2 ? targets[1] : several;
      if (object < count_ && (is_root_[object] || in.of(object).size() > 1)) step.place = shared;
      steps_.push_back(step);
    }
  }

  bool was_met(std::uint32_t object) const { return (steps_[object].place & ~shared) != 0; }

  std::uint32_t enter(std::uint32_t object, std::uint32_t parent) {
    const auto place = static_cast<std::uint32_t>(made_.objects_.size());
    Step& step = steps_[object];
    made_.objects_.push_back(object);
    parents_.push_back(parent | (step.place & shared));
    step.place |= place;
    if (step.second == none) {
      cursors_.push_back(none);
    } else if (step.second == several) {
      cursors_.push_back(1);
      if (object < count_) graph_.out().will_ask(object);
    } else {
      cursors_.push_back(last | step.second);
      will_need(&steps_[step.second]);
    }
    return place;
  }

  // The next object that the one at `place` refers to and that was not met yet, but for the first one.
  std::uint32_t next_target(std::uint32_t place) {
    std::uint32_t& cursor = cursors_[place];
    if (cursor == none) return none;
    if ((cursor & last) != 0) {
      const std::uint32_t target = cursor & ~last;
      cursor = none;
      return was_met(target) ? none : target;
    }
    const auto targets = targets_of(made_.objects_[place]);
    while (cursor < targets.size()) {
      if (cursor + look_ahead < targets.size()) will_need(&steps_[targets[cursor + look_ahead]]);
      const std::uint32_t target = targets[cursor++];
      if (!was_met(target)) return target;
    }
    cursor = none;
    return none;
  }

  // Depth first, by the places of parents instead of by a stack.
  bool visit_from(std::uint32_t root) {
    for (std::uint32_t object = root, at = 0;;) {
      at = enter(object, at);
      if (!go_on(at)) return false;
      object = steps_[object].first;
      if (object != none && !was_met(object)) continue;
      while ((object = next_target(at)) == none)
        if ((at = parents_[at] & ~shared) == 0) return true;
    }
  }

  // The least semidominator between `place` and the root of its tree, among those places that are linked:
  // those from `linked` on.
  std::uint32_t evaluate(std::uint32_t place, std::uint32_t linked) {
    if (links_[place].parent < linked) return links_[place].label;
    path_.clear();
    std::uint32_t top = place;
    for (; links_[top].parent >= linked; top = links_[top].parent) path_.push_back(top);
    Link link = links_[top];
    for (; !path_.empty(); path_.pop_back()) {
      Link& next = links_[path_.back()];
      link.label = next.label = std::min(next.label, link.label);
      next.parent = link.parent;
    }
    return link.label;
  }

  bool is_shared(std::uint32_t place) const { return (made_.dominators_[place] & shared) != 0; }

  // What lies far from each other is asked for some steps before it is used.
  void hint(const HeapEdges& in, std::uint32_t place) const {
    if (place <= 4 * look_ahead) return;
    // The object so many places ahead whose references are needed.
    const auto object = [&](std::uint32_t steps) {
      const std::uint32_t found = made_.objects_[place - steps];
      return is_shared(place - steps) && found < count_ ? found : none;
    };
    const auto references = [&](std::uint32_t of) {
      const auto all = of != none ? in.of(of) : std::span<const std::uint32_t>();
      return all.first(std::min(all.size(), most_reference_hints));
    };
    if (const auto soon = object(4 * look_ahead); soon != none) in.will_ask(soon);
    if (const auto soon = object(3 * look_ahead); soon != none) in.will_read(soon);
    for (const std::uint32_t from : references(object(2 * look_ahead))) will_need(&made_.places_[from]);
    for (const std::uint32_t from : references(object(look_ahead)))
      if (const std::uint32_t before = made_.places_[from]; before > place) will_need(&links_[before]);
  }

  bool find_semidominators() {
    const auto count = static_cast<std::uint32_t>(made_.objects_.size());
    semi_.resize(count);
    links_.reserve(count);
    for (std::uint32_t place = 0; place < count; ++place)
      links_.push_back({.parent = made_.dominators_[place] & ~shared, .label = place});
    const HeapEdges& in = graph_.in();
    for (std::uint32_t place = count - 1; place > 0; --place) {
      hint(in, place);
      if (!go_on(most_ + count - place)) return false;
      const std::uint32_t object = made_.objects_[place];
      std::uint32_t& parent = made_.dominators_[place];
      if (!is_shared(place)) { // nothing but its parent leads to it
        semi_[place] = links_[place].label = parent;
        continue;
      }
      parent &= ~shared;
      const bool is_root = object < count_ && is_root_[object];
      std::uint32_t least = is_root && groups_ == nullptr ? 0 : parent;
      const auto meet = [&](std::uint32_t from) {
        const std::uint32_t before = made_.places_[from];
        if (before == 0 || least == 0) return;
        least = std::min(least, before <= place ? before : evaluate(before, place + 1));
      };
      if (object < count_)
        for (const std::uint32_t from : in.of(object))
          if (!is_cut(from)) meet(from);
      if (is_root && groups_ != nullptr)
        for (auto at = std::ranges::lower_bound(holders_, Pair{object, 0});
             at != holders_.end() && at->first == object; ++at)
          meet(count_ + at->second);
      semi_[place] = links_[place].label = least;
    }
    return true;
  }

  // The nearest dominator of the parent that is not behind the semidominator. A list may have a way back from
  // each of its objects to its head: so they are not gone through one by one. From each, a jump leads to one
  // far above it (E. Myers, An Applicative Random-Access Stack).
  bool find_dominators() {
    const auto count = static_cast<std::uint32_t>(made_.objects_.size());
    LargeArray<Link>& jumps = links_; // which nobody needs any more
    jumps[0] = {.parent = 0, .label = 0};
    for (std::uint32_t place = 1; place < count; ++place) {
      if (!go_on(2 * most_ + place)) return false;
      std::uint32_t dominator = made_.dominators_[place];
      while (dominator > semi_[place]) {
        const std::uint32_t far = jumps[dominator].parent;
        dominator = far > semi_[place] ? far : made_.dominators_[dominator];
      }
      made_.dominators_[place] = dominator;
      const Link jump = jumps[dominator], next = jumps[jump.parent];
      const bool as_long = jump.label - next.label == next.label - jumps[next.parent].label;
      jumps[place] = {.parent = as_long ? next.parent : dominator, .label = jump.label + 1};
    }
    return true;
  }

  HeapDominators& made_;
  HeapGraph& graph_;
  const HeapWalkOptions& options_;
  const HeapRootGroups* groups_;
  std::uint32_t count_;                                     // of objects
  std::size_t most_;                                        // of objects and groups
  std::vector<std::uint32_t> group_begins_, group_targets_; // by group, the objects that it holds
  std::vector<Pair> holders_;                               // object, group; ascending
  std::vector<bool> is_root_;                               // by object
  // Of an object: its place, 0 until it is met, with `shared` when more than one way may lead to it; and the
  // first two objects that it refers to.
  struct Step {
    std::uint32_t place = 0, first = none, second = none;
  };
  static constexpr std::uint32_t shared = std::uint32_t{1} << 31;
  static constexpr std::uint32_t several = none - 1; // instead of the second: there are more
  LargeArray<Step> steps_;
  LargeArray<std::uint32_t> parents_; // by place, in the tree of the visit; with `shared`
  // By place, what is to be followed yet: with `last` an object, else how many references were followed of
  // several; none when there is nothing.
  LargeArray<std::uint32_t> cursors_;
  static constexpr std::uint32_t last = std::uint32_t{1} << 31;
  // Of a place: the next one above that is still asked, and the least semidominator of all up to that one. In
  // the end: a dominator somewhere above, and the number of all dominators.
  struct Link {
    std::uint32_t parent, label;
  };
  LargeArray<Link> links_;
  LargeArray<std::uint32_t> semi_; // by place
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
