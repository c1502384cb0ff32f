#include "core/heap/heap_index.h"

#include <fmt/format.h>

#include <algorithm>

namespace clr {
namespace {

class Marker final : public HeapSink {
public:
  Marker(const HeapMap& map, HeapTypes& types, std::vector<std::vector<std::uint64_t>*> bits, unsigned shift)
      : map_(map), types_(types), bits_(std::move(bits)), shift_(shift) {}

  void begin(std::size_t range) override {
    begin_ = map_.ranges[range].begin;
    words_ = bits_[range];
    words_->assign((map_.ranges[range].size() >> shift_) / 64 + 1, 0);
  }

  void add(std::span<const HeapObject> objects) override {
    if (free_ == HeapIndex::none)
      if (const auto known = types_.known(map_.free_object)) free_ = *known;
    for (const HeapObject& object : objects) {
      if (object.type == free_) continue;
      const std::uint64_t bit = (object.address - begin_) >> shift_;
      (*words_)[bit / 64] |= std::uint64_t{1} << bit % 64;
    }
  }

private:
  const HeapMap& map_;
  HeapTypes& types_;
  std::vector<std::vector<std::uint64_t>*> bits_;
  unsigned shift_;
  Address begin_ = 0;
  std::vector<std::uint64_t>* words_ = nullptr;
  std::uint32_t free_ = HeapIndex::none;
};

} // namespace

HeapIndex::HeapIndex(const HeapMap& map, HeapTypes& types, const HeapWalkOptions& options, unsigned threads)
    : shift_(types.target().pointer_size() == 8 ? 3 : 2), parts_(map.ranges.size()) {
  std::vector<std::vector<std::uint64_t>*> bits;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    parts_[i].begin = map.ranges[i].begin;
    parts_[i].end = map.ranges[i].end;
    bits.push_back(&parts_[i].bits);
  }
  std::vector<std::unique_ptr<HeapSink>> sinks;
  for (unsigned i = 0; i < std::max(threads, 1u); ++i)
    sinks.push_back(std::make_unique<Marker>(map, types, bits, shift_));
  HeapWalkResult walked = walk_heap(map, types, map.ranges, sinks, options);
  gaps_ = std::move(walked.gaps);
  interrupted_ = walked.interrupted;
  std::uint64_t count = 0;
  for (Part& part : parts_) {
    if (part.bits.empty()) part.bits.assign(((part.end - part.begin) >> shift_) / 64 + 1, 0);
    part.first = static_cast<std::uint32_t>(count);
    part.ranks.reserve(part.bits.size());
    for (const std::uint64_t word : part.bits) {
      part.ranks.push_back(static_cast<std::uint32_t>(count));
      count += static_cast<unsigned>(std::popcount(word));
    }
    if (count > max_objects) throw_corrupt(part.begin, fmt::format("more than {} objects", max_objects));
  }
  count_ = static_cast<std::uint32_t>(count);
  make_blocks();
}

void HeapIndex::make_blocks() {
  if (parts_.empty()) return;
  lowest_ = parts_.front().begin;
  highest_ = parts_.back().end;
  const std::uint64_t count = ((highest_ - lowest_) >> block_shift_) + 1;
  if (count > max_blocks) return; // then each address is searched
  blocks_.reserve(count);
  std::uint32_t part = 0;
  for (std::uint64_t block = 0; block < count; ++block) {
    while (part < parts_.size() && parts_[part].end <= lowest_ + (block << block_shift_)) ++part;
    blocks_.push_back(part);
  }
}

std::size_t HeapIndex::search(Address address) const {
  const auto found = std::ranges::upper_bound(parts_, address, {}, &Part::end);
  return static_cast<std::size_t>(found - parts_.begin());
}

std::uint32_t HeapIndex::last_before(Address address) const {
  const Part* const part = part_of(address);
  if (part == nullptr) return none;
  const std::uint64_t bit = (address - part->begin) >> shift_;
  // Those that begin at or before it: all up to its bit, with it.
  const std::uint64_t word = part->bits[bit / 64] & (~std::uint64_t{0} >> (63 - bit % 64));
  const std::uint32_t behind = part->ranks[bit / 64] + static_cast<std::uint32_t>(std::popcount(word));
  return behind == part->first ? none : behind - 1;
}

Address HeapIndex::address(std::uint32_t number) const {
  auto part = std::ranges::upper_bound(parts_, number, {}, &Part::first);
  --part;
  // Parts without objects have the same first number as the next one.
  const auto after = std::ranges::upper_bound(part->ranks, number);
  const auto place = static_cast<std::uint64_t>(after - part->ranks.begin()) - 1;
  std::uint64_t word = part->bits[place];
  for (std::uint32_t skip = number - part->ranks[place]; skip != 0; --skip) word &= word - 1;
  return part->begin + ((place * 64 + static_cast<unsigned>(std::countr_zero(word))) << shift_);
}

} // namespace clr
