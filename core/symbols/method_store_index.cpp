#include "core/symbols/method_store_index.h"

#include <algorithm>
#include <numeric>

namespace clr {
namespace {

constexpr std::size_t no_leaf = SIZE_MAX;

} // namespace

// Visits the nodes all of whose addresses the span covers, from the bottom up. Node 1 is the root, the
// children of n are 2n and 2n + 1, and the leaves begin at bounds_.size().
template<typename Use>
void MethodStoreIndex::each_node(const TimedSpan& span, Use use) const {
  const auto place = [&](std::uint64_t address) {
    return static_cast<std::size_t>(std::ranges::lower_bound(bounds_, address) - bounds_.begin()) +
           bounds_.size();
  };
  for (std::size_t low = place(span.start), high = place(span.end); low < high; low /= 2, high /= 2) {
    if (low % 2 != 0) use(low++);
    if (high % 2 != 0) use(--high);
  }
}

MethodStoreIndex::MethodStoreIndex(std::span<const TimedSpan> spans) {
  bounds_.reserve(spans.size() * 2);
  times_.reserve(spans.size());
  for (const TimedSpan& span : spans) {
    bounds_.push_back(span.start);
    bounds_.push_back(span.end);
    times_.push_back({span.begin, span.stop});
  }
  std::ranges::sort(bounds_);
  bounds_.erase(std::ranges::unique(bounds_).begin(), bounds_.end());
  bounds_.shrink_to_fit();

  std::vector<std::uint32_t> by_time(spans.size());
  std::iota(by_time.begin(), by_time.end(), 0u);
  std::ranges::stable_sort(by_time, {}, [&](std::uint32_t i) { return spans[i].begin; });

  first_.assign(bounds_.size() * 2 + 1, 0);
  for (const TimedSpan& span : spans) each_node(span, [&](std::size_t node) { ++first_[node + 1]; });
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  entries_.resize(first_.back());
  std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
  for (const std::uint32_t i : by_time)
    each_node(spans[i], [&](std::size_t node) { entries_[next[node]++] = i; });
}

std::size_t MethodStoreIndex::leaf_of(std::uint64_t address) const {
  const auto behind = std::ranges::upper_bound(bounds_, address);
  if (behind == bounds_.begin() || behind == bounds_.end()) return no_leaf;
  return static_cast<std::size_t>(behind - bounds_.begin()) - 1 + bounds_.size();
}

std::uint32_t MethodStoreIndex::find(std::uint64_t address, std::uint64_t time) const {
  const std::size_t leaf = leaf_of(address);
  if (leaf == no_leaf) return none;
  for (std::size_t node = leaf; node != 0; node /= 2) {
    const auto here = in_node(node);
    if (here.empty()) continue;
    const auto behind =
        std::ranges::upper_bound(here, time, {}, [&](std::uint32_t i) { return times_[i].begin; });
    if (behind == here.begin()) continue;
    const std::uint32_t last = *(behind - 1);
    if (time < times_[last].stop || times_[last].stop == TimedSpan::no_end) return last;
  }
  return none;
}

std::uint32_t MethodStoreIndex::find_last(std::uint64_t address) const {
  const std::size_t leaf = leaf_of(address);
  if (leaf == no_leaf) return none;
  std::uint32_t best = none;
  for (std::size_t node = leaf; node != 0; node /= 2) {
    const auto here = in_node(node);
    if (!here.empty() && (best == none || times_[here.back()].begin > times_[best].begin)) best = here.back();
  }
  return best;
}

} // namespace clr
