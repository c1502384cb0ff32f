#include "core/heap/heap_index.h"

#include <fmt/format.h>

#include <algorithm>

namespace clr {
namespace {

// A stretch of objects goes on as long as it has no more words of bits than these, of 512 bytes of the heap
// each. What lies further away begins a new one, for a few bytes of its own: an array may say that it is
// hundreds of gigabytes long.
constexpr std::uint64_t most_words_of_object = 4, most_spare_words = 8;

} // namespace

// Threads mark objects of different ranges.
class HeapIndexing::Marker final : public HeapSink {
public:
  Marker(const HeapMap& map, HeapTypes& types, std::vector<Marks>& marks_of, unsigned shift)
      : map_(map), types_(types), marks_of_(marks_of), shift_(shift) {}

  void begin(std::size_t range) override {
    begin_ = map_.ranges[range].begin;
    marks_ = &marks_of_[range];
    first_ = words_ = objects_ = 0;
  }

  void add(std::span<const HeapObject> objects) override {
    if (free_ == none)
      if (const auto known = types_.known(map_.free_object)) free_ = *known;
    for (const HeapObject& object : objects) {
      if (object.type == free_) continue;
      std::uint64_t bit = (object.address - begin_) >> shift_;
      if (bit / 64 >= words_) bit = make_room(bit);
      marks_->bits[first_ + bit / 64] |= std::uint64_t{1} << bit % 64;
      ++objects_;
    }
  }

private:
  static constexpr std::uint32_t none = HeapIndex::none;

  // For the bit of an object behind all others. Returns the bit in its stretch.
  std::uint64_t make_room(std::uint64_t bit) {
    if (objects_ == 0 || bit / 64 >= most_spare_words + most_words_of_object * objects_) {
      begin_ += bit << shift_;
      first_ = marks_->bits.size();
      objects_ = bit = 0;
      marks_->stretches.push_back({begin_, first_});
    }
    words_ = bit / 64 + 1;
    std::vector<std::uint64_t>& bits = marks_->bits;
    if (first_ + words_ > bits.capacity()) bits.reserve(std::max(first_ + words_, bits.size() * 5 / 4));
    bits.resize(first_ + words_);
    return bit;
  }

  const HeapMap& map_;
  HeapTypes& types_;
  std::vector<Marks>& marks_of_; // by range
  unsigned shift_;
  Marks* marks_ = nullptr;
  // Of the last stretch: where it begins, its first word of bits, how many there are, and its objects.
  Address begin_ = 0;
  std::size_t first_ = 0, words_ = 0;
  std::uint64_t objects_ = 0;
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
    : map_(map), types_(types), marks_(map.ranges.size()),
      index_(types.target().pointer_size() == 8 ? 3 : 2) {}

std::unique_ptr<HeapSink> HeapIndexing::sink() {
  return std::make_unique<Marker>(map_, types_, marks_, index_.shift_);
}

void HeapIndexing::end(std::span<const std::unique_ptr<HeapSink>>, const HeapWalkResult& walked) {
  index_.gaps_ = walked.gaps;
  index_.interrupted_ = walked.interrupted;
  std::size_t parts = 0, words = 0;
  for (const Marks& marks : marks_) {
    parts += marks.stretches.size();
    words += marks.bits.size();
  }
  index_.parts_.reserve(parts);
  index_.words_.reserve(words);
  index_.firsts_.reserve(marks_.size());
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < marks_.size(); ++i) {
    index_.firsts_.push_back(static_cast<std::uint32_t>(count));
    count += take_marks(i, static_cast<std::uint32_t>(count));
    if (count > HeapIndex::max_objects)
      throw_corrupt(map_.ranges[i].begin, fmt::format("more than {} objects", HeapIndex::max_objects));
    marks_[i] = {};
  }
  index_.count_ = static_cast<std::uint32_t>(count);
  index_.make_blocks();
}

// Of the range of this number, whose objects have numbers from `first` on. Returns how many it has.
std::uint64_t HeapIndexing::take_marks(std::size_t range, std::uint32_t first) {
  const Marks& marks = marks_[range];
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < marks.stretches.size(); ++i) {
    const bool is_last = i + 1 == marks.stretches.size();
    const std::size_t begin = marks.stretches[i].first,
                      end = is_last ? marks.bits.size() : marks.stretches[i + 1].first;
    index_.parts_.push_back({.begin = marks.stretches[i].begin,
                             .end = is_last ? map_.ranges[range].end : marks.stretches[i + 1].begin,
                             .first = static_cast<std::uint32_t>(first + count),
                             .first_word = index_.words_.size(),
                             .words = end - begin});
    for (std::size_t word = begin; word < end; ++word) {
      index_.words_.push_back({marks.bits[word], static_cast<std::uint32_t>(first + count)});
      count += static_cast<unsigned>(std::popcount(marks.bits[word]));
    }
  }
  return count;
}

void HeapIndex::make_blocks() {
  if (parts_.empty()) return;
  lowest_ = parts_.front().begin;
  highest_ = parts_.back().end;
  const std::uint64_t count = ((highest_ - lowest_) >> block_shift_) + 1;
  if (count > max_blocks) return; // then each address is searched
  blocks_.reserve(count + 1);
  const auto last = static_cast<std::uint32_t>(parts_.size() - 1);
  std::uint32_t part = 0;
  for (std::uint64_t block = 0; block < count; ++block) {
    while (part < last && parts_[part].end <= lowest_ + (block << block_shift_)) ++part;
    blocks_.push_back(part);
  }
  blocks_.push_back(last);
}

std::uint32_t HeapIndex::last_before(Address address) const {
  const Part* const part = part_of(address);
  if (part == nullptr) return none;
  const std::uint64_t bit = (address - part->begin) >> shift_;
  if (bit / 64 >= part->words) { // behind all of the part
    const bool is_last = part == &parts_.back();
    return (is_last ? count_ : (part + 1)->first) - 1;
  }
  // Those that begin at or before it: all up to its bit, with it. There is the first one of the part.
  const Word& word = words_[part->first_word + bit / 64];
  const std::uint64_t bits = word.bits & (~std::uint64_t{0} >> (63 - bit % 64));
  return word.rank + static_cast<std::uint32_t>(std::popcount(bits)) - 1;
}

Address HeapIndex::address(std::uint32_t number) const {
  const auto part = std::ranges::upper_bound(parts_, number, {}, &Part::first) - 1;
  const auto words = std::span(words_).subspan(part->first_word, part->words);
  const auto after = std::ranges::upper_bound(words, number, {}, &Word::rank);
  const auto place = static_cast<std::uint64_t>(after - words.begin()) - 1;
  std::uint64_t bits = words[place].bits;
  for (std::uint32_t skip = number - words[place].rank; skip != 0; --skip) bits &= bits - 1;
  return part->begin + ((place * 64 + static_cast<unsigned>(std::countr_zero(bits))) << shift_);
}

} // namespace clr
