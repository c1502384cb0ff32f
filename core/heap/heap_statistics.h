// How many objects there are of each type, and how much memory each part of the heap holds.
#pragma once

#include "core/heap/heap_graph.h"
#include "core/heap/heap_walk.h"

#include <array>
#include <vector>

namespace clr {

struct HeapCount {
  std::uint64_t objects = 0, bytes = 0;

  void operator+=(const HeapCount& other) {
    objects += other.objects;
    bytes += other.bytes;
  }
};

struct HeapTypeCount {
  Address method_table = 0;
  std::array<HeapCount, heap_part_count> parts;
  HeapCount all() const;
};

struct HeapRangeCount {
  HeapCount live; // without free memory
  HeapCount free;
  std::uint64_t largest_free = 0;
};

struct HeapStatistics {
  std::vector<HeapTypeCount> types;   // without free memory; in no order
  std::vector<HeapRangeCount> ranges; // as those of the map
  std::vector<HeapGap> gaps;
  bool interrupted = false; // then the counts are too small
};

// Which objects are counted: those that are reached from roots, or those that are not.
struct HeapLiveness {
  const HeapIndex* index = nullptr;
  const HeapTree* tree = nullptr;
  bool live = true;
};

// The counts as a part of a walk. All must outlive it.
class HeapCounting final : public HeapWork {
public:
  HeapCounting(const HeapMap& map, HeapTypes& types, const HeapLiveness* only = nullptr)
      : map_(map), types_(types), only_(only) {
    statistics_.ranges.resize(map.ranges.size());
  }
  std::unique_ptr<HeapSink> sink() override;
  void end(std::span<const std::unique_ptr<HeapSink>> sinks, const HeapWalkResult& walked) override;
  HeapStatistics take() { return std::move(statistics_); }

private:
  const HeapMap& map_;
  HeapTypes& types_;
  const HeapLiveness* only_;
  HeapStatistics statistics_;
};

// Counts all objects, or those that `only` selects; free memory apart. Cost: that of walk_heap.
HeapStatistics count_heap(const HeapMap& map, HeapTypes& types, const HeapWalkOptions& options = {},
                          unsigned threads = heap_threads(), const HeapLiveness* only = nullptr);

} // namespace clr
