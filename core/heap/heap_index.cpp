#include "core/heap/heap_index.h"

#include <fmt/format.h>

#include <algorithm>

namespace clr {

// Threads mark objects of different ranges.
class HeapIndexing::Marker final : public HeapSink {
public:
  using Bits = std::vector<std::uint64_t>;
  Marker(const HeapMap& map, HeapTypes& types, std::vector<Bits>& bits_of, unsigned shift)
      : map_(map), types_(types), bits_of_(bits_of), shift_(shift) {}

  void begin(std::size_t range) override {
    begin_ = map_.ranges[range].begin;
    bits_ = &bits_of_[range];
  }

  void add(std::span<const HeapObject> objects) override {
    if (free_ == none)
      if (const auto known = types_.known(map_.free_object)) free_ = *known;
    // As long as objects are found: a range that says it is larger than all memory costs nothing.
    const std::uint64_t last = (objects.back().address - begin_) >> shift_;
    if (objects.back().address - begin_ > HeapIndex::max_indexed_bytes)
      throw_corrupt(begin_, "a range of the heap that is too large");
    if (last / 64 >= bits_->size()) bits_->resize(std::max(last / 64 + 1, bits_->size() * 5 / 4));
    for (const HeapObject& object : objects) {
      if (object.type == free_) continue;
      const std::uint64_t bit = (object.address - begin_) >> shift_;
      (*bits_)[bit / 64] |= std::uint64_t{1} << bit % 64;
    }
  }

private:
  static constexpr std::uint32_t none = HeapIndex::none;

  const HeapMap& map_;
  HeapTypes& types_;
  std::vector<Bits>& bits_of_; // by range
  unsigned shift_;
  Address begin_ = 0;
  Bits* bits_ = nullptr;
  std::uint32_t free_ = none;
};

HeapIndex::HeapIndex(const HeapMap& map, HeapTypes& types, const HeapWalkOptions& options, unsigned threads) {
  HeapIndexing indexing(map, types);
  std::vector<std::unique_ptr<HeapSink>> sinks;
  for (unsigned i = 0; i < std::max(threads, 1u); ++i) sinks.push_back(indexing.sink());
  indexing.end(sinks, walk_heap(map, types, map.ranges, sinks, options));
  *this = indexing.take();
}

HeapIndexing::HeapIndexing(const HeapMap& map, HeapTypes& types)
    : map_(map), types_(types), bits_of_(map.ranges.size()),
      index_(types.target().pointer_size() == 8 ? 3 : 2) {}

std::unique_ptr<HeapSink> HeapIndexing::sink() {
  return std::make_unique<Marker>(map_, types_, bits_of_, index_.shift_);
}

void HeapIndexing::end(std::span<const std::unique_ptr<HeapSink>>, const HeapWalkResult& walked) {
  index_.gaps_ = walked.gaps;
  index_.interrupted_ = walked.interrupted;
  index_.parts_.resize(map_.ranges.size());
  std::size_t words = 0;
  for (const Marker::Bits& bits : bits_of_) words += bits.size();
  index_.words_.reserve(words);
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < index_.parts_.size(); ++i) {
    HeapIndex::Part& part = index_.parts_[i];
    part = {.begin = map_.ranges[i].begin,
            .end = map_.ranges[i].end,
            .first = static_cast<std::uint32_t>(count),
            .first_word = index_.words_.size(),
            .words = bits_of_[i].size()};
    for (const std::uint64_t bits : bits_of_[i]) {
      index_.words_.push_back({bits, static_cast<std::uint32_t>(count)});
      count += static_cast<unsigned>(std::popcount(bits));
    }
    if (count > HeapIndex::max_objects)
      throw_corrupt(part.begin, fmt::format("more than {} objects", HeapIndex::max_objects));
    bits_of_[i] = {};
  }
  index_.count_ = static_cast<std::uint32_t>(count);
  index_.make_blocks();
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
  if (bit / 64 >= part->words) {
    const std::size_t next = static_cast<std::size_t>(part - parts_.data()) + 1;
    return first_of(next) == part->first ? none : first_of(next) - 1;
  }
  // Those that begin at or before it: all up to its bit, with it.
  const Word& word = words_[part->first_word + bit / 64];
  const std::uint64_t bits = word.bits & (~std::uint64_t{0} >> (63 - bit % 64));
  const std::uint32_t behind = word.rank + static_cast<std::uint32_t>(std::popcount(bits));
  return behind == part->first ? none : behind - 1;
}

Address HeapIndex::address(std::uint32_t number) const {
  auto part = std::ranges::upper_bound(parts_, number, {}, &Part::first);
  --part;
  // Parts without objects have the same first number as the next one.
  const auto words = std::span(words_).subspan(part->first_word, part->words);
  const auto after = std::ranges::upper_bound(words, number, {}, &Word::rank);
  const auto place = static_cast<std::uint64_t>(after - words.begin()) - 1;
  std::uint64_t bits = words[place].bits;
  for (std::uint32_t skip = number - words[place].rank; skip != 0; --skip) bits &= bits - 1;
  return part->begin + ((place * 64 + static_cast<unsigned>(std::countr_zero(bits))) << shift_);
}

} // namespace clr
