#include "core/describe/variable_places.h"

#include <algorithm>

namespace clr {
namespace {

bool has(const std::vector<NativeRange>& code, std::uint32_t offset) {
  return std::ranges::any_of(
      code, [&](const NativeRange& range) { return range.begin <= offset && offset < range.end; });
}

bool on_stack(const VariableLocation& location) {
  return location.home == VariableHome::stack || location.home == VariableHome::stack2 ||
         location.home == VariableHome::stack_byref;
}

} // namespace

std::vector<NativeRange> code_after_prologues(const IlMap& map, const std::vector<std::uint32_t>& entries,
                                              std::uint32_t size) {
  std::vector<NativeRange> result;
  std::vector<std::uint32_t> begins = entries;
  if (std::find(begins.begin(), begins.end(), 0u) == begins.end()) begins.push_back(0);
  std::sort(begins.begin(), begins.end());
  const std::vector<IlStretch> stretches = map.stretches();
  if (!map.maps_any() && !stretches.empty() && begins.size() == 1 && size != 0) return {{0, size}};
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const std::uint32_t end = std::min(i + 1 < begins.size() ? begins[i + 1] : size, size);
    // The prologue ends where IL begins. A funclet's has no mark of its own: its first stretch that begins
    // behind its entry does, or the first when it is marked.
    for (const IlStretch& stretch : stretches) {
      if (stretch.begin < begins[i] || stretch.begin >= end) continue;
      if (stretch.position.mark == IlMark::prolog) continue;
      if (begins[i] == 0 && stretch.position.mark != IlMark::mapped) continue;
      result.push_back({stretch.begin, end});
      break;
    }
  }
  return result;
}

std::vector<NativeRange> code_of_scope(const IlMap& map, const IlRange& scope, std::uint32_t size) {
  std::vector<NativeRange> result;
  std::uint32_t unmapped_since = 0; // code without IL right behind the last range
  bool open = false;
  for (const IlStretch& stretch : map.stretches()) {
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

std::vector<DebugVariableRange> homes_of(const std::vector<debuginfo::Variable>& variables,
                                         std::int32_t number, const std::vector<NativeRange>& where,
                                         const std::vector<NativeRange>& code) {
  std::vector<DebugVariableRange> homes;
  for (const debuginfo::Variable& variable : variables) {
    if (variable.number != number || variable.begin >= variable.end) continue;
    for (const NativeRange& range : intersect({{variable.begin, variable.end}}, where))
      homes.push_back({.begin = range.begin, .end = range.end, .location = variable.location});
  }
  std::stable_sort(homes.begin(), homes.end(), [](const DebugVariableRange& a, const DebugVariableRange& b) {
    return a.begin < b.begin;
  });
  std::vector<DebugVariableRange> disjoint;
  for (DebugVariableRange& home : homes) {
    if (!disjoint.empty()) {
      home.begin = std::max(home.begin, disjoint.back().end);
      if (home.begin >= home.end) continue;
      if (disjoint.back().end == home.begin && disjoint.back().location == home.location) {
        disjoint.back().end = home.end;
        continue;
      }
    }
    disjoint.push_back(std::move(home));
  }
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
  for (DebugVariableRange range : ranges) {
    range.begin = std::max(range.begin, part.begin);
    range.end = std::min(range.end, end);
    if (range.begin < range.end) found.push_back(std::move(range));
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
