#include "core/heap/heap_table.h"

#include "core/heap/heap_statistics.h"

#include <algorithm>

namespace clr {
namespace {

// Writes the rows of its ranges. Each range has a place of its own, so that threads do not meet.
class Rows final : public HeapSink {
public:
  Rows(const HeapMap& map, HeapTypes& types, const std::vector<std::size_t>& begins, HeapTable& table)
      : map_(map), types_(types), begins_(begins), table_(table) {}

  void begin(std::size_t range) override {
    at_ = begins_[range];
    end_ = begins_[range + 1];
    part_ = static_cast<std::uint8_t>(map_.ranges[range].part);
  }

  void add(std::span<const HeapObject> objects) override {
    for (const HeapObject& object : objects) {
      if (at_ == end_) return; // a live heap would have grown; a stopped one has not
      table_.addresses[at_] = object.address;
      table_.sizes[at_] = object.size;
      table_.types[at_] = object.type;
      table_.parts[at_] = part_;
      table_.free[at_] = is_free(object.type);
      ++at_;
    }
  }

private:
  bool is_free(std::uint32_t type) {
    while (free_.size() <= type)
      free_.push_back(types_.at(static_cast<std::uint32_t>(free_.size())).method_table == map_.free_object);
    return free_[type];
  }

  const HeapMap& map_;
  HeapTypes& types_;
  const std::vector<std::size_t>& begins_; // by range
  HeapTable& table_;
  std::size_t at_ = 0, end_ = 0;
  std::uint8_t part_ = 0;
  std::vector<bool> free_; // by the number of the type
};

} // namespace

HeapTable make_heap_table(const HeapMap& map, HeapTypes& types, const HeapWalkOptions& options,
                          unsigned threads) {
  HeapTable table;
  HeapStatistics counted = count_heap(map, types, options, threads);
  table.gaps = std::move(counted.gaps);
  table.interrupted = counted.interrupted;
  if (table.interrupted) return table;
  std::vector<std::size_t> begins{0};
  for (const HeapRangeCount& range : counted.ranges)
    begins.push_back(begins.back() + range.live.objects + range.free.objects);
  table.addresses.resize(begins.back());
  table.sizes.resize(begins.back());
  table.types.resize(begins.back());
  table.parts.resize(begins.back());
  table.free.resize(begins.back());
  std::vector<std::unique_ptr<HeapSink>> sinks;
  for (unsigned i = 0; i < std::max(threads, 1u); ++i)
    sinks.push_back(std::make_unique<Rows>(map, types, begins, table));
  if (walk_heap(map, types, map.ranges, sinks, options).interrupted) {
    table = {};
    table.interrupted = true;
  }
  return table;
}

} // namespace clr
