#include "core/heap/heap_retained.h"

#include <algorithm>
#include <memory>
#include <numeric>

namespace clr {

// Notes the size and type of each object. Objects of different ranges have different numbers, so that threads
// do not meet.
class HeapRetained::Sizes final : public HeapSink {
public:
  Sizes(HeapRetained& made, const HeapIndex& index, std::uint32_t free_type)
      : made_(made), index_(index), free_type_(free_type) {}

  void begin(std::size_t range) override { number_ = index_.first_of(range); }
  void add(std::span<const HeapObject> objects) override {
    for (const HeapObject& object : objects) {
      if (object.type == free_type_) continue;
      if (number_ >= made_.types_.size()) return; // a live heap would have grown; a stopped one has not
      made_.types_[number_] = object.type;
      if (made_.dominators_.reached(number_)) made_.retained_[number_] = object.size;
      ++number_;
    }
  }

private:
  HeapRetained& made_;
  const HeapIndex& index_;
  std::uint32_t free_type_, number_ = 0;
};

HeapRetained::HeapRetained(const HeapMap& map, HeapTypes& types, HeapGraph& graph,
                           std::span<const std::uint32_t> roots, const HeapWalkOptions& options,
                           const HeapRootGroups* groups)
    : dominators_(graph, roots, options, groups), interrupted_(dominators_.interrupted()) {
  const std::uint32_t count = graph.index().count();
  retained_.assign(std::size_t{count} + (groups == nullptr ? 0 : groups->count), 0);
  counts_.assign(retained_.size(), 0);
  types_.assign(count, 0);
  if (interrupted_) return;
  std::uint32_t free_type = HeapIndex::none;
  if (const auto known = types.known(map.free_object)) free_type = *known;
  std::vector<std::unique_ptr<HeapSink>> sinks;
  for (unsigned i = 0; i < std::max(heap_threads(), 1u); ++i)
    sinks.push_back(std::make_unique<Sizes>(*this, graph.index(), free_type));
  interrupted_ = walk_heap(map, types, map.ranges, sinks, options).interrupted;
  type_count_ = types.count();
  dominators_.for_each_upward(
      [&](std::uint32_t object, std::uint32_t dominator) {
        if (object < count) ++counts_[object];
        if (dominator == HeapDominators::none) return;
        retained_[dominator] += retained_[object];
        counts_[dominator] += counts_[object];
      },
      [&](std::uint32_t object) {
        will_need(&retained_[object]);
        will_need(&counts_[object]);
      });
}

std::vector<std::uint32_t> HeapRetained::largest(std::size_t most, const std::vector<bool>& wanted) const {
  // A heap of the best so far, the least of them first.
  const auto better = [&](std::uint32_t a, std::uint32_t b) {
    return retained_[a] != retained_[b] ? retained_[a] > retained_[b] : a < b;
  };
  std::vector<std::uint32_t> best;
  for (std::uint32_t object = 0; object < types_.size() && most != 0; ++object) {
    if (!dominators_.reached(object)) continue;
    if (!wanted.empty() && (types_[object] >= wanted.size() || !wanted[types_[object]])) continue;
    if (best.size() == most) {
      if (!better(object, best.front())) continue;
      std::ranges::pop_heap(best, better);
      best.pop_back();
    }
    best.push_back(object);
    std::ranges::push_heap(best, better);
  }
  std::ranges::sort(best, better);
  return best;
}

std::vector<RetainedCount> HeapRetained::by_type() const {
  std::vector<std::uint32_t> same(type_count_);
  std::iota(same.begin(), same.end(), 0u);
  return by_group(same, same.size());
}

std::vector<RetainedCount> HeapRetained::by_group(const std::vector<std::uint32_t>& group_of,
                                                  std::size_t groups) const {
  std::vector<RetainedCount> counts(groups);
  const auto size = static_cast<std::uint32_t>(types_.size());
  // The objects that each one dominates, one behind the other; those without a dominator behind the last.
  std::vector<std::uint32_t> begins(std::size_t{size} + 2, 0), below(dominators_.reached_count());
  const auto owner = [&](std::uint32_t dominator) {
    return dominator == HeapDominators::none ? size : dominator;
  };
  dominators_.for_each_upward(
      [&](std::uint32_t, std::uint32_t dominator) { ++begins[owner(dominator) + 1]; });
  for (std::size_t i = 1; i < begins.size(); ++i) begins[i] += begins[i - 1];
  std::vector<std::uint32_t> ends(begins.begin(), begins.end() - 1);
  dominators_.for_each_upward(
      [&](std::uint32_t object, std::uint32_t dominator) { below[ends[owner(dominator)]++] = object; });
  // From the top down; `ends` goes back to the begins as the objects are left.
  std::vector<std::uint32_t> open(groups, 0), path{size};
  while (!path.empty()) {
    const std::uint32_t at = path.back();
    if (ends[at] != begins[at]) {
      const std::uint32_t object = below[--ends[at]];
      const std::uint32_t group = group_of[types_[object]];
      RetainedCount& count = counts[group];
      std::uint64_t own = retained_[object];
      for (std::uint32_t i = begins[object]; i < begins[object + 1]; ++i) own -= retained_[below[i]];
      ++count.objects;
      count.bytes += own;
      if (open[group]++ == 0) count.retained += retained_[object];
      path.push_back(object);
      continue;
    }
    path.pop_back();
    if (at != size) --open[group_of[types_[at]]];
  }
  return counts;
}

RetainedCount count_reachable(const HeapGraph& graph, std::uint32_t object,
                              const std::function<std::uint64_t(std::uint32_t)>& size) {
  RetainedCount count;
  std::vector<bool> seen(graph.index().count(), false);
  std::vector<std::uint32_t> open{object};
  seen[object] = true;
  while (!open.empty()) {
    const std::uint32_t at = open.back();
    open.pop_back();
    ++count.objects;
    count.bytes += size(at);
    for (const std::uint32_t next : graph.out().of(at)) {
      if (seen[next]) continue;
      seen[next] = true;
      open.push_back(next);
    }
  }
  return count;
}

} // namespace clr
