#include "core/runtime/heap_summary.h"

#include "core/memory/utf8.h"
#include "core/runtime/name_filter.h"

#include <algorithm>
#include <tuple>

namespace clr {

namespace {

auto key_of(const HeapSummaryType& type) {
  return std::tie(type.name, type.module);
}

std::uint64_t size_of(std::int64_t change) {
  return change < 0 ? 0 - static_cast<std::uint64_t>(change) : static_cast<std::uint64_t>(change);
}

} // namespace

void put_in_order(std::vector<HeapSummaryType>& types) {
  std::ranges::sort(types, [](const auto& a, const auto& b) { return key_of(a) < key_of(b); });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (kept != 0 && key_of(types[kept - 1]) == key_of(types[i]))
      types[kept - 1].count += types[i].count;
    else if (kept++ != i)
      types[kept - 1] = std::move(types[i]);
  }
  types.resize(kept);
}

HeapSummary summarize(HeapReporter& heap, const HeapWalkOptions& options) {
  const HeapTypeReport report = heap.count_types({}, options);
  if (report.interrupted)
    throw Error(ErrorKind::interrupted, "interrupted while the objects of the heap were counted");
  HeapSummary summary{.all = report.all, .free = report.free};
  for (const HeapTypeRow& row : report.rows)
    // As a file of it has them: a damaged name would not be equal to itself.
    summary.types.push_back(
        {.name = whole_utf8(row.name), .module = whole_utf8(row.module), .count = row.count});
  put_in_order(summary.types);
  summary.warnings = heap.warnings();
  for (std::string& text : gap_texts(report.gaps, heap.map().bytes()))
    summary.warnings.push_back(std::move(text));
  return summary;
}

std::string_view HeapChange::kind() const {
  if (before.objects == 0 && after.objects != 0) return "new";
  if (after.objects == 0 && before.objects != 0) return "gone";
  return bytes() == 0 ? "same" : bytes() > 0 ? "grown" : "shrunk";
}

HeapDifference compare(const HeapSummary& before, const HeapSummary& after, const HeapChangeQuery& query) {
  HeapDifference found{
      .before = before.all, .after = after.all, .free_before = before.free, .free_after = after.free};
  const NameFilter filter(query.glob);
  const auto add = [&](const HeapSummaryType& type, HeapCount was, HeapCount is) {
    HeapChange change{.name = type.name, .module = type.module, .before = was, .after = is};
    if (change.bytes() == 0 && change.objects() == 0) return;
    if (size_of(change.bytes()) < query.least_bytes || !filter.accepts(type.name)) return;
    found.rows.push_back(std::move(change));
  };
  auto old = before.types.begin();
  for (const HeapSummaryType& type : after.types) {
    for (; old != before.types.end() && key_of(*old) < key_of(type); ++old) add(*old, old->count, {});
    const bool both = old != before.types.end() && key_of(*old) == key_of(type);
    add(type, both ? old->count : HeapCount{}, type.count);
    if (both) ++old;
  }
  for (; old != before.types.end(); ++old) add(*old, old->count, {});
  found.types = found.rows.size();
  std::ranges::stable_sort(found.rows, [&](const HeapChange& a, const HeapChange& b) {
    const auto key = [&](const HeapChange& change) {
      return query.by_count ? std::pair(change.objects(), change.bytes())
                            : std::pair(change.bytes(), change.objects());
    };
    return key(a) > key(b);
  });
  if (query.top != 0 && found.rows.size() > query.top) found.rows.resize(query.top);
  return found;
}

} // namespace clr
