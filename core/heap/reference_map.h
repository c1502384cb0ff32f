// Where the objects of a type keep references to others.
// Source: dotnet/runtime src/coreclr/gc/gcdesc.h.
#pragma once

#include "core/heap/heap_bytes.h"
#include "core/heap/heap_walker.h"

#include <deque>
#include <memory>
#include <vector>

namespace clr {

// What lies before a MethodTable: runs of references, by their distance from the object's start.
struct ReferenceMap {
  struct Series {
    std::uint64_t offset = 0;
    std::uint64_t adjusted = 0; // with the object's size, bytes of the run; wraps
  };
  std::vector<Series> series; // by offset
  // Of an array of values that hold references: what one element repeats, from `first` on.
  struct Item {
    std::uint32_t references = 0; // so many, and then
    std::uint32_t skip = 0;       // so many bytes without
  };
  std::uint64_t first = 0;
  std::vector<Item> items;
  std::string fault; // why there is none; empty when there is

  bool empty() const { return series.empty() && items.empty(); }
};

constexpr std::int64_t max_reference_series = 1 << 16;

// Never throws for target data. Cost: 2 reads; none for a type without references.
ReferenceMap read_reference_map(const Target& target, const HeapType& type);

// The maps of all types, for several threads.
class ReferenceMaps {
public:
  // `types` must outlive this. No reads.
  explicit ReferenceMaps(HeapTypes& types) : types_(&types) {}
  // Valid as long as this.
  const ReferenceMap& of(std::uint32_t type);
  HeapTypes& types() const { return *types_; }

private:
  HeapTypes* types_;
  std::mutex mutex_; // of maps_; no other is taken while it is held
  std::vector<std::unique_ptr<const ReferenceMap>> maps_;
};

// The references of one object after the other; for one thread.
class ReferenceReader {
public:
  explicit ReferenceReader(ReferenceMaps& maps);

  // Calls `visit(offset, value)` for each reference of `object` that is not null, by offset unless runs lie
  // in each other. Runs that lie outside of the object, those that are together longer than it, and
  // references whose memory is missing, are left out. Cost: that of HeapBytes.
  template<typename Visit>
  void read(const HeapObject& object, const Visit& visit) {
    const ReferenceMap& map = map_of(object.type);
    std::uint64_t left = object.size; // runs that lie in each other would be read again and again
    for (const ReferenceMap::Series& series : map.series) {
      const std::uint64_t bytes = series.adjusted + object.size;
      if (bytes > left) continue;
      left -= bytes;
      run(object, series.offset, bytes, visit);
    }
    if (!map.items.empty()) values(object, map, visit);
  }

private:
  const ReferenceMap& map_of(std::uint32_t type) {
    if (type >= known_.size()) known_.resize(type + 1);
    if (known_[type] == nullptr) known_[type] = &maps_->of(type);
    return *known_[type];
  }

  template<typename Visit>
  void run(const HeapObject& object, std::uint64_t offset, std::uint64_t bytes, const Visit& visit) {
    if (offset > object.size || bytes > object.size - offset) return;
    for (std::uint64_t done = 0; done + width_ <= bytes;) {
      const std::span<const std::byte> some = bytes_.from(object.address + offset + done, width_, no_end);
      if (some.size() < width_) return;
      const std::uint64_t here = std::min<std::uint64_t>(some.size(), bytes - done) / width_ * width_;
      for (std::uint64_t i = 0; i < here; i += width_)
        if (const Address value = word(some.data() + i); value != 0) visit(offset + done + i, value);
      done += here;
    }
  }

  template<typename Visit>
  void values(const HeapObject& object, const ReferenceMap& map, const Visit& visit) {
    std::uint64_t stride = 0;
    for (const ReferenceMap::Item& item : map.items)
      stride += std::uint64_t{item.references} * width_ + item.skip;
    const std::span<const std::byte> head = bytes_.from(object.address + width_, 4, no_end);
    if (head.size() < 4 || stride == 0 || map.first > object.size) return;
    const std::uint64_t most = (object.size - map.first) / stride;
    std::uint64_t left = std::min<std::uint64_t>(load<std::uint32_t>(head, order_), most);
    for (std::uint64_t at = map.first; left != 0; --left)
      for (const ReferenceMap::Item& item : map.items) {
        run(object, at, std::uint64_t{item.references} * width_, visit);
        at += std::uint64_t{item.references} * width_ + item.skip;
      }
  }

  Address word(const std::byte* at) const {
    return width_ == 8 ? load<std::uint64_t>({at, 8}, order_) : load<std::uint32_t>({at, 4}, order_);
  }

  // What lies behind an object is read with it: the next one does.
  static constexpr Address no_end = ~Address{0};

  ReferenceMaps* maps_;
  HeapBytes bytes_;
  unsigned width_;
  ByteOrder order_;
  std::vector<const ReferenceMap*> known_; // by the number of the type
};

} // namespace clr
