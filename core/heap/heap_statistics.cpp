#include "core/heap/heap_statistics.h"

#include <algorithm>

namespace clr {
namespace {

class Counter final : public HeapSink {
public:
  Counter(const HeapMap& map, HeapTypes& types, std::vector<HeapRangeCount>& ranges, const HeapLiveness* only)
      : map_(map), types_(types), ranges_(ranges), only_(only) {}

  void begin(std::size_t range) override {
    range_ = &ranges_[range];
    counts_ = &parts_[static_cast<std::size_t>(map_.ranges[range].part)];
    if (only_ != nullptr) number_ = only_->index->first_of(range);
  }

  void add(std::span<const HeapObject> objects) override {
    if (only_ == nullptr) return count(objects);
    chosen_.clear();
    for (const HeapObject& object : objects) {
      if (object.type >= counts_->size()) grow(object.type);
      if (object.type == free_ || only_->tree->reached(number_++) == only_->live) chosen_.push_back(object);
    }
    count(chosen_);
  }

  // Two for each type, which belong together.
  using Counts = std::vector<std::array<HeapCount, 2>>;
  const Counts& part(std::size_t number) const { return parts_[number]; }

private:
  void count(std::span<const HeapObject> objects) {
    Counts& counts = *counts_;
    std::uint64_t bytes = 0;
    HeapCount free;
    std::size_t turn = 0;
    for (const HeapObject& object : objects) {
      if (object.type >= counts.size()) grow(object.type);
      // Objects of one type lie side by side: to add to what was stored just before makes a processor wait.
      HeapCount& count = counts[object.type][turn ^= 1];
      ++count.objects;
      count.bytes += object.size;
      bytes += object.size;
      if (object.type != free_) continue;
      ++free.objects;
      free.bytes += object.size;
      range_->largest_free = std::max(range_->largest_free, object.size);
    }
    range_->free += free;
    range_->live += {objects.size() - free.objects, bytes - free.bytes};
  }

  void grow(std::uint32_t type) {
    counts_->resize(std::max<std::size_t>(type + 1, types_.count()));
    if (free_ == none)
      if (const auto known = types_.known(map_.free_object)) free_ = *known;
  }

  static constexpr std::uint32_t none = ~std::uint32_t{0};

  const HeapMap& map_;
  HeapTypes& types_;
  std::vector<HeapRangeCount>& ranges_;
  HeapRangeCount* range_ = nullptr;
  std::array<Counts, heap_part_count> parts_; // by the number of the type
  Counts* counts_ = nullptr;
  std::uint32_t free_ = none;
  const HeapLiveness* only_;
  std::uint32_t number_ = 0; // of the next object that is not free, with only_
  std::vector<HeapObject> chosen_;
};

} // namespace

HeapCount HeapTypeCount::all() const {
  HeapCount sum;
  for (const HeapCount& part : parts) sum += part;
  return sum;
}

std::unique_ptr<HeapSink> HeapCounting::sink() {
  return std::make_unique<Counter>(map_, types_, statistics_.ranges, only_);
}

void HeapCounting::end(std::span<const std::unique_ptr<HeapSink>> sinks, const HeapWalkResult& walked) {
  statistics_.gaps = walked.gaps;
  statistics_.interrupted = walked.interrupted;
  const std::uint32_t count = types_.count();
  std::vector<HeapTypeCount> all(count);
  for (std::uint32_t type = 0; type < count; ++type) all[type].method_table = types_.at(type).method_table;
  for (const auto& sink : sinks)
    for (std::size_t part = 0; part < heap_part_count; ++part) {
      const Counter::Counts& counts = static_cast<const Counter&>(*sink).part(part);
      for (std::size_t type = 0; type < counts.size(); ++type)
        for (const HeapCount& half : counts[type]) all[type].parts[part] += half;
    }
  for (HeapTypeCount& type : all)
    if (type.method_table != map_.free_object && type.all().objects != 0) statistics_.types.push_back(type);
}

HeapStatistics count_heap(const HeapMap& map, HeapTypes& types, const HeapWalkOptions& options,
                          unsigned threads, const HeapLiveness* only) {
  HeapCounting counting(map, types, only);
  std::vector<std::unique_ptr<HeapSink>> sinks;
  for (unsigned i = 0; i < std::max(threads, 1u); ++i) sinks.push_back(counting.sink());
  counting.end(sinks, walk_heap(map, types, map.ranges, sinks, options));
  return counting.take();
}

} // namespace clr
