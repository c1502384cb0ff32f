// Numbers for the objects of the heap, by ascending address: a bit for each word of the heap says whether an
// object begins there. Where objects lie far from each other, what is between them has no bits.
#pragma once

#include "core/heap/heap_walk.h"
#include "core/heap/large_array.h"

#include <bit>
#include <vector>

namespace clr {

class HeapIndex {
public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  // References are kept as numbers of 31 bits.
  static constexpr std::uint32_t max_objects = (std::uint32_t{1} << 31) - 1;

  // Walks the heap; free memory gets no number. Throws Error{corrupt} for more than max_objects. Cost: that
  // of walk_heap; memory by the objects that are found, however far from each other: 200 bytes for one at
  // most, 4 for one of a heap of small ones.
  HeapIndex(const HeapMap& map, HeapTypes& types, const HeapWalkOptions& options = {},
            unsigned threads = heap_threads());

  std::uint32_t count() const { return count_; }
  const std::vector<HeapGap>& gaps() const { return gaps_; }
  bool interrupted() const { return interrupted_; }

  // The number of the object that begins at `address`; none when none does. No reads.
  std::uint32_t find(Address address) const {
    const Part* const part = part_of(address);
    if (part == nullptr) return none;
    const std::uint64_t bit = (address - part->begin) >> shift_;
    if (((address - part->begin) & ((Address{1} << shift_) - 1)) != 0) return none;
    if (bit / 64 >= part->words) return none;
    const Word& word = words_[part->first_word + bit / 64];
    if ((word.bits >> bit % 64 & 1) == 0) return none;
    return word.rank +
           static_cast<std::uint32_t>(std::popcount(word.bits & ((std::uint64_t{1} << bit % 64) - 1)));
  }
  // Says that find(address) follows soon.
  void will_find(Address address) const {
    const Part* const part = part_of(address);
    if (part == nullptr) return;
    const std::uint64_t word = ((address - part->begin) >> shift_) / 64;
    if (word < part->words) will_need(&words_[part->first_word + word]);
  }
  // The last object that begins at or before `address` in its range; none when there is none. It need not
  // reach so far. No reads.
  std::uint32_t last_before(Address address) const;
  // Where an object begins. No reads.
  Address address(std::uint32_t number) const;

  // Of the ranges of the map: the number of the first object of range `range`, also of one behind the last.
  std::uint32_t first_of(std::size_t range) const { return range < firsts_.size() ? firsts_[range] : count_; }

private:
  friend class HeapIndexing;
  explicit HeapIndex(unsigned shift) : shift_(shift) {}
  // From an object on to where the next part begins, or to the end of the range.
  struct Part {
    Address begin = 0, end = 0;
    std::uint32_t first = 0;    // number of its first object
    std::size_t first_word = 0; // its first one of words_
    std::size_t words = 0;      // up to that of its last object
  };
  struct Word {
    std::uint64_t bits = 0; // one for each word of the heap
    std::uint32_t rank = 0; // the number of the first object at or behind the first bit
  };
  const Part* part_of(Address address) const {
    if (address < lowest_ || address >= highest_) return nullptr;
    // The first part that ends behind it: most blocks of memory have one only.
    std::size_t low = 0, high = parts_.size() - 1;
    if (!blocks_.empty()) {
      const std::uint64_t block = (address - lowest_) >> block_shift_;
      low = blocks_[block];
      high = blocks_[block + 1];
    }
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      if (parts_[middle].end <= address)
        low = middle + 1;
      else
        high = middle;
    }
    return parts_[low].begin <= address ? &parts_[low] : nullptr;
  }
  void make_blocks();

  static constexpr unsigned block_shift_ = 20;
  static constexpr std::size_t max_blocks = 1 << 22;

  unsigned shift_ = 0; // of a word's size
  std::uint32_t count_ = 0;
  Address lowest_ = 0, highest_ = 0;
  std::vector<Part> parts_;           // ascending, disjoint; each has objects
  std::vector<std::uint32_t> firsts_; // of each range of the map, the number of its first object
  LargeArray<Word> words_;            // those of one part behind those of the one before
  // For each block from lowest_ on, the first part that ends behind its begin; and the last part.
  std::vector<std::uint32_t> blocks_;
  std::vector<HeapGap> gaps_;
  bool interrupted_ = false;
};

// The numbers as a part of a walk. All must outlive it.
class HeapIndexing final : public HeapWork {
public:
  HeapIndexing(const HeapMap& map, HeapTypes& types);
  std::unique_ptr<HeapSink> sink() override;
  // Throws Error{corrupt} as HeapIndex does.
  void end(std::span<const std::unique_ptr<HeapSink>> sinks, const HeapWalkResult& walked) override;
  HeapIndex take() { return std::move(index_); }

private:
  // What is found in one range.
  struct Marks {
    // Objects that lie near each other; the bits are of the words from the first one on.
    struct Stretch {
      Address begin = 0;
      std::size_t first = 0; // of bits
    };
    std::vector<Stretch> stretches;
    std::vector<std::uint64_t> bits; // those of one stretch behind those of the one before
  };
  class Marker;
  std::uint64_t take_marks(std::size_t range, std::uint32_t first);

  const HeapMap& map_;
  HeapTypes& types_;
  std::vector<Marks> marks_; // by range
  HeapIndex index_;
};

} // namespace clr
