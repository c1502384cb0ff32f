#include "core/runtime/heap_arrays.h"

#include <algorithm>

namespace clr {
namespace {

// The rows that come first, of any number that are offered.
class FirstRows {
public:
  // `most` 0: all.
  FirstRows(bool sparse, std::size_t most) : sparse_(sparse), most_(most) {}

private:
  bool before(const HeapArray& a, const HeapArray& b) const {
    const auto key = [this](const HeapArray& row) {
      return sparse_ ? row.counts.empty_bytes() : row.object.size;
    };
    return key(a) != key(b) ? key(a) > key(b) : a.object.address < b.object.address;
  }
  // In it the front of a heap is the last row.
  auto order() const {
    return [this](const HeapArray& a, const HeapArray& b) { return before(a, b); };
  }

public:
  void offer(const HeapArray& row) {
    if (most_ != 0 && rows_.size() == most_) {
      if (!before(row, rows_.front())) return;
      std::ranges::pop_heap(rows_, order());
      rows_.pop_back();
    }
    rows_.push_back(row);
    std::ranges::push_heap(rows_, order());
  }
  std::vector<HeapArray> take() {
    std::ranges::sort(rows_, order());
    return std::move(rows_);
  }

private:
  bool sparse_;
  std::size_t most_;
  std::vector<HeapArray> rows_;
};

} // namespace

HeapArrays find_arrays(HeapReporter& heap, const ArrayQuery& query, const HeapWalkOptions& options) {
  HeapArrays found;
  const auto go_on = [&](std::uint64_t done, std::uint64_t of) {
    if (options.progress && !options.progress(done, of)) found.interrupted = true;
    return !found.interrupted;
  };
  ArrayReader reader(heap.types());
  FirstRows rows(query.sparse, query.objects.top);
  found.gaps = heap.for_each_object(query.objects,
                                    [&](const HeapObjectRow& object) {
                                      const Address table = object.type->method_table;
                                      const auto counts =
                                          query.sparse
                                              ? reader.counts_with_empty(object.address, object.size, table)
                                              : reader.counts(object.address, object.size, table);
                                      if (!counts) return true;
                                      ++found.arrays;
                                      found.bytes += object.size;
                                      found.empty_bytes += counts->empty_bytes();
                                      if (!query.sparse || counts->empty != 0)
                                        rows.offer({.object = object, .counts = *counts});
                                      return true;
                                    },
                                    {.progress = go_on});
  found.rows = rows.take();
  if (query.sparse) return found;
  const std::uint64_t all = heap.map().bytes();
  for (HeapArray& row : found.rows) {
    if (!go_on(all, all)) break;
    const auto counts =
        reader.counts_with_empty(row.object.address, row.object.size, row.object.type->method_table);
    if (counts) row.counts = *counts;
    found.empty_bytes += row.counts.empty_bytes();
  }
  return found;
}

} // namespace clr
