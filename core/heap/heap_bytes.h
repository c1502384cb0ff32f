// The bytes of the heap in large pieces, for one thread that goes through them once.
#pragma once

#include "core/heap/heap_types.h"

#include <vector>

namespace clr {

class HeapBytes {
public:
  explicit HeapBytes(HeapTypes& types) : types_(&types) {}

  // The bytes from `at` on: at least `least` of them, and at most to `end`. Fewer than `least` when the next
  // byte is missing. Valid until the next call. Cost: 1 read, when they are not among those of the last one.
  std::span<const std::byte> from(Address at, std::size_t least, Address end) {
    if (at - begin_ < size_ && size_ - (at - begin_) >= least)
      return std::span(bytes_).subspan(at - begin_, size_ - (at - begin_));
    return fetch(at, least, end);
  }

  // So many bytes stay in a core's own cache while they are looked at.
  static constexpr std::size_t piece = 256 * 1024;

private:
  std::span<const std::byte> fetch(Address at, std::size_t least, Address end);

  // After a jump over a large object, little may be wanted before the next jump.
  static constexpr std::size_t small_piece = 4096;

  HeapTypes* types_;
  std::vector<std::byte> bytes_;
  Address begin_ = 0;
  std::size_t size_ = 0, last_ = small_piece;
};

} // namespace clr
