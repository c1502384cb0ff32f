// Where the objects of a type keep references to others.
// Source: dotnet/runtime src/coreclr/gc/gcdesc.h.
#pragma once

#include "core/heap/heap_bytes.h"
#include "core/heap/heap_walker.h"

#include <deque>
#include <memory>
#include <type_traits>
#include <vector>

namespace clr {

// What lies before a MethodTable: runs of references, by their distance from the object's start. No two have
// a byte in common.
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
  std::uint64_t stride = 0; // bytes of all items: of an element
  std::vector<Item> items;
  std::size_t said = 0; // runs that the type has by its own account, also those that are left out
  std::string fault;    // why there is none; empty when there is

  bool empty() const { return series.empty() && items.empty(); }
};

constexpr std::int64_t max_reference_series = 1 << 16;
// Runs of references of all types together: 64 for each of 65,000 types, of which honest ones have 2 or 3.
constexpr std::size_t max_all_reference_series = 4 << 20;

// Of at most `most` runs; a fault when there are more. Runs that no object of the type has room for, and
// those that lie in another one, are left out. Never throws for target data. Cost: 2 reads; none for a type
// without references.
ReferenceMap read_reference_map(const Target& target, const HeapType& type,
                                std::size_t most = max_reference_series);

// The maps of all types, for several threads.
class ReferenceMaps {
public:
  // `types` must outlive this. All maps together have at most `most` runs, also those that are left out. No
  // reads.
  explicit ReferenceMaps(HeapTypes& types, std::size_t most = max_all_reference_series)
      : types_(&types), left_(most) {}
  // Valid as long as this. Beyond the limit of all maps, one with a fault.
  const ReferenceMap& of(std::uint32_t type);
  HeapTypes& types() const { return *types_; }

  // Of the maps that were read, those with a fault.
  struct Faults {
    std::size_t types = 0;
    std::string first; // the fault of one of them, with its MethodTable
  };
  Faults faults();

private:
  const ReferenceMap* known(std::uint32_t type); // null when it was not read yet

  HeapTypes* types_;
  std::size_t left_; // runs that may be read yet; for who holds types_->reading()
  std::mutex mutex_; // of maps_; no other is taken while it is held
  std::vector<std::unique_ptr<const ReferenceMap>> maps_;
};

// The references of one object after the other; for one thread.
class ReferenceReader {
public:
  explicit ReferenceReader(ReferenceMaps& maps);

  // Calls `visit(offset, value)` for each reference of `object` that is not null, by offset. Those that lie
  // outside of the object, and those at and behind memory that is missing, are left out. A `visit` that
  // returns bool ends it by false. Cost: that of HeapBytes.
  template<typename Visit>
  void read(const HeapObject& object, const Visit& visit) {
    const ReferenceMap& map = map_of(object.type);
    for (const ReferenceMap::Series& series : map.series)
      if (!run(object, series.offset, series.adjusted + object.size, visit)) return;
    if (!map.items.empty()) values(object, map, visit);
  }

private:
  const ReferenceMap& map_of(std::uint32_t type) {
    if (type >= known_.size()) known_.resize(type + 1);
    if (known_[type] == nullptr) known_[type] = &maps_->of(type);
    return *known_[type];
  }

  // Whether the object may have more references, and `visit` wants them.
  template<typename Visit>
  bool run(const HeapObject& object, std::uint64_t offset, std::uint64_t bytes, const Visit& visit) {
    if (offset > object.size || bytes > object.size - offset) return false;
    for (std::uint64_t done = 0; done + width_ <= bytes;) {
      const std::span<const std::byte> some = bytes_.from(object.address + offset + done, width_, no_end);
      if (some.size() < width_) return false;
      const std::uint64_t here = std::min<std::uint64_t>(some.size(), bytes - done) / width_ * width_;
      for (std::uint64_t i = 0; i < here; i += width_)
        if (const Address value = word(some.data() + i);
            value != 0 && !wants_more(visit, offset + done + i, value))
          return false;
      done += here;
    }
    return true;
  }

  template<typename Visit>
  static bool wants_more(const Visit& visit, std::uint64_t offset, Address value) {
    if constexpr (std::is_void_v<decltype(visit(offset, value))>) {
      visit(offset, value);
      return true;
    } else {
      return visit(offset, value);
    }
  }

  template<typename Visit>
  void values(const HeapObject& object, const ReferenceMap& map, const Visit& visit) {
    const std::span<const std::byte> head = bytes_.from(object.address + width_, 4, no_end);
    if (head.size() < 4 || map.first > object.size) return;
    std::uint64_t left = std::min<std::uint64_t>(load<std::uint32_t>(head, order_), object.size / map.stride);
    for (std::uint64_t at = map.first; left != 0; --left)
      for (const ReferenceMap::Item& item : map.items) {
        if (!run(object, at, std::uint64_t{item.references} * width_, visit)) return;
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
