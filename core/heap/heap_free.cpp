#include "core/heap/heap_free.h"

#include <algorithm>

namespace clr {
namespace {

bool larger(const FreeBlock& a, const FreeBlock& b) {
  return a.bytes != b.bytes ? a.bytes > b.bytes : a.address < b.address;
}

std::size_t class_of(std::uint64_t bytes) {
  return static_cast<std::size_t>(std::ranges::upper_bound(free_classes, bytes) - free_classes.begin()) - 1;
}

class FreeCounter final : public HeapSink {
public:
  FreeCounter(const HeapMap& map, HeapTypes& types, std::size_t most)
      : map_(map), types_(types), most_(most) {}

  void begin(std::size_t range) override {
    finish();
    part_ = map_.ranges[range].part;
  }

  void add(std::span<const HeapObject> objects) override {
    for (const HeapObject& object : objects) {
      if (!is_free(object.type)) {
        if (open_.bytes != 0) {
          open_.next = object.address;
          open_.next_type = types_.at(object.type).method_table;
          finish();
        }
        continue;
      }
      FreePart& part = parts[static_cast<std::size_t>(part_)];
      const HeapCount one{.objects = 1, .bytes = object.size};
      part.free += one;
      part.classes[class_of(object.size)] += one;
      finish();
      open_ = {.address = object.address, .bytes = object.size, .part = part_};
    }
  }

  // The block whose follower was not met is one, too.
  void finish() {
    if (open_.bytes != 0 && (largest.size() < most_ || (most_ != 0 && larger(open_, largest.front())))) {
      if (largest.size() == most_) {
        std::ranges::pop_heap(largest, larger);
        largest.pop_back();
      }
      largest.push_back(open_);
      std::ranges::push_heap(largest, larger);
    }
    open_ = {};
  }

  std::array<FreePart, heap_part_count> parts;
  std::vector<FreeBlock> largest; // a heap, the smallest first

private:
  bool is_free(std::uint32_t type) {
    if (type >= free_.size())
      for (auto i = static_cast<std::uint32_t>(free_.size()); i <= type; ++i)
        free_.push_back(types_.at(i).method_table == map_.free_object);
    return free_[type];
  }

  const HeapMap& map_;
  HeapTypes& types_;
  std::size_t most_;
  HeapPart part_ = HeapPart::gen0;
  FreeBlock open_;         // whose follower is not known yet; no bytes: none
  std::vector<bool> free_; // by the number of the type
};

} // namespace

HeapFreeSpace count_free_space(const HeapMap& map, HeapTypes& types, std::size_t most,
                               const HeapWalkOptions& options, unsigned threads) {
  HeapFreeSpace found;
  std::vector<std::unique_ptr<HeapSink>> sinks;
  for (unsigned i = 0; i < std::max(threads, 1u); ++i)
    sinks.push_back(std::make_unique<FreeCounter>(map, types, most));
  HeapWalkResult walked = walk_heap(map, types, map.ranges, sinks, options);
  found.gaps = std::move(walked.gaps);
  found.interrupted = walked.interrupted;
  for (const HeapRange& range : map.ranges)
    found.parts[static_cast<std::size_t>(range.part)].bytes += range.size();
  for (const auto& sink : sinks) {
    auto& counter = static_cast<FreeCounter&>(*sink);
    counter.finish();
    for (std::size_t i = 0; i < heap_part_count; ++i) {
      found.parts[i].free += counter.parts[i].free;
      for (std::size_t k = 0; k < free_classes.size(); ++k)
        found.parts[i].classes[k] += counter.parts[i].classes[k];
    }
    found.largest.insert(found.largest.end(), counter.largest.begin(), counter.largest.end());
  }
  std::ranges::sort(found.largest, larger);
  if (found.largest.size() > most) found.largest.resize(most);
  return found;
}

} // namespace clr
