#include "core/describe/variable_places.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <queue>

namespace clr {
namespace {

bool has(const std::vector<NativeRange>& code, std::uint32_t offset) {
  const auto after = std::ranges::upper_bound(code, offset, {}, &NativeRange::begin);
  return after != code.begin() && offset < std::prev(after)->end;
}

bool on_stack(const VariableLocation& location) {
  return location.home == VariableHome::stack || location.home == VariableHome::stack2 ||
         location.home == VariableHome::stack_byref;
}

// Goes once through the entries of a variable and once through ranges of code. In each range the entry that
// begins first comes first, those from before the range by their order in the block; each has what the ones
// before it left.
class HomeSweep {
public:
  explicit HomeSweep(std::span<const debuginfo::Variable> entries) : entries_(entries) {
    for (std::size_t i = 0; i < entries.size(); ++i)
      if (entries[i].begin < entries[i].end) by_begin_.push_back(i);
    std::ranges::stable_sort(by_begin_, {}, [&](std::size_t i) { return entries_[i].begin; });
  }

  // The ranges must come ascending and disjoint.
  void add(const NativeRange& range) {
    covered_ = range.begin;
    for (; next_ < by_begin_.size() && entries_[by_begin_[next_]].begin <= range.begin; ++next_)
      open_.push(by_begin_[next_]);
    while (covered_ < range.end && !open_.empty()) {
      const std::size_t entry = open_.top();
      if (entries_[entry].end > covered_) cover(entry, covered_, range.end);
      if (entries_[entry].end <= covered_) open_.pop(); // over, for the ranges that follow, too
    }
    for (; covered_ < range.end && next_ < by_begin_.size(); ++next_) {
      const std::size_t entry = by_begin_[next_];
      const debuginfo::Variable& variable = entries_[entry];
      if (variable.begin >= range.end) return;
      if (variable.end > covered_) cover(entry, std::max(variable.begin, covered_), range.end);
      if (variable.end > range.end) open_.push(entry);
    }
  }

  std::vector<DebugVariableRange> take() { return std::move(homes_); }

private:
  void cover(std::size_t entry, std::uint32_t begin, std::uint32_t most) {
    const debuginfo::Variable& variable = entries_[entry];
    covered_ = std::min(variable.end, most);
    if (!homes_.empty() && homes_.back().end == begin && homes_.back().location == variable.location)
      homes_.back().end = covered_;
    else
      homes_.push_back({.begin = begin, .end = covered_, .location = variable.location});
  }

  std::span<const debuginfo::Variable> entries_;
  std::vector<std::size_t> by_begin_; // indexes of those that are not empty
  std::size_t next_ = 0;              // of by_begin_: the first that begins behind what was seen
  // Those that began before, by their order in the block.
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> open_;
  std::uint32_t covered_ = 0; // all before it has its home, or has none
  std::vector<DebugVariableRange> homes_;
};

} // namespace

std::vector<NativeRange> code_after_prologues(const std::vector<IlStretch>& stretches,
                                              const std::vector<std::uint32_t>& entries, std::uint32_t size) {
  std::vector<NativeRange> result;
  std::vector<std::uint32_t> begins = entries;
  if (std::find(begins.begin(), begins.end(), 0u) == begins.end()) begins.push_back(0);
  std::sort(begins.begin(), begins.end());
  const bool maps_any = std::ranges::any_of(
      stretches, [](const IlStretch& stretch) { return stretch.position.mark == IlMark::mapped; });
  if (!maps_any && !stretches.empty() && begins.size() == 1 && size != 0) return {{0, size}};
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const std::uint32_t end = std::min(i + 1 < begins.size() ? begins[i + 1] : size, size);
    // The prologue ends where IL begins. A funclet's has no mark of its own: its first stretch that begins
    // behind its entry does, or the first when it is marked.
    auto stretch = std::ranges::lower_bound(stretches, begins[i], {}, &IlStretch::begin);
    for (; stretch != stretches.end() && stretch->begin < end; ++stretch) {
      if (stretch->position.mark == IlMark::prolog) continue;
      if (begins[i] == 0 && stretch->position.mark != IlMark::mapped) continue;
      result.push_back({stretch->begin, end});
      break;
    }
  }
  return result;
}

std::vector<NativeRange> code_of_scope(const std::vector<IlStretch>& stretches, const IlRange& scope,
                                       std::uint32_t size) {
  std::vector<NativeRange> result;
  std::uint32_t unmapped_since = 0; // code without IL right behind the last range
  bool open = false;
  for (const IlStretch& stretch : stretches) {
    const std::uint32_t end = std::min(stretch.end, size);
    if (stretch.begin >= end) continue;
    if (stretch.position.mark == IlMark::no_mapping && open) {
      unmapped_since = end;
      continue;
    }
    const bool inside = stretch.position.mark == IlMark::mapped && scope.contains(stretch.position.il);
    if (!inside) {
      open = false;
      continue;
    }
    if (open && (result.back().end == stretch.begin || unmapped_since == stretch.begin))
      result.back().end = end;
    else
      result.push_back({stretch.begin, end});
    open = true;
  }
  return result;
}

std::vector<NativeRange> intersect(const std::vector<NativeRange>& a, const std::vector<NativeRange>& b) {
  std::vector<NativeRange> result;
  for (std::size_t i = 0, k = 0; i < a.size() && k < b.size();) {
    const NativeRange both{std::max(a[i].begin, b[k].begin), std::min(a[i].end, b[k].end)};
    if (both.begin < both.end) result.push_back(both);
    if (a[i].end < b[k].end)
      ++i;
    else
      ++k;
  }
  return result;
}

std::span<const debuginfo::Variable> entries_of(const std::vector<debuginfo::Variable>& variables,
                                                std::int32_t number) {
  const auto found = std::ranges::equal_range(variables, number, {}, &debuginfo::Variable::number);
  return {found.begin(), found.end()};
}

std::vector<DebugVariableRange> homes_of(std::span<const debuginfo::Variable> entries,
                                         const std::vector<NativeRange>& where,
                                         const std::vector<NativeRange>& code) {
  HomeSweep sweep(entries);
  for (const NativeRange& range : where) sweep.add(range);
  std::vector<DebugVariableRange> disjoint = sweep.take();
  for (std::size_t i = 0; i < disjoint.size(); ++i) {
    std::uint32_t& end = disjoint[i].end;
    const bool followed = i + 1 < disjoint.size() && disjoint[i + 1].begin == end;
    if (!followed && on_stack(disjoint[i].location) && has(code, end)) ++end;
  }
  return disjoint;
}

std::vector<DebugVariableRange> within(const std::vector<DebugVariableRange>& ranges, const NativeRange& part,
                                       const std::vector<NativeRange>& code) {
  std::vector<DebugVariableRange> found;
  const std::uint32_t end = has(code, part.end) ? part.end + 1 : part.end;
  auto range = std::ranges::upper_bound(ranges, part.begin, {}, &DebugVariableRange::end);
  for (; range != ranges.end() && range->begin < end; ++range) {
    DebugVariableRange& inside = found.emplace_back(*range);
    inside.begin = std::max(range->begin, part.begin);
    inside.end = std::min(range->end, end);
  }
  return found;
}

std::vector<std::uint32_t> offsets_of(const std::vector<ExecutionManager::Function>& functions,
                                      const MethodRegions& regions) {
  std::vector<std::uint32_t> offsets;
  for (const ExecutionManager::Function& function : functions) {
    if (function.begin - regions.hot_start < regions.hot_size)
      offsets.push_back(static_cast<std::uint32_t>(function.begin - regions.hot_start));
    else if (function.begin - regions.cold_start < regions.cold_size)
      offsets.push_back(static_cast<std::uint32_t>(regions.hot_size + (function.begin - regions.cold_start)));
  }
  return offsets;
}

} // namespace clr
