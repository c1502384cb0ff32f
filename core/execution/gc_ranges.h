// The interruptible ranges of GC info, and which tracked slots are live inside them.
// Source: dotnet/runtime src/coreclr/vm/gcinfodecoder.cpp (EnumerateLiveSlots).
#pragma once

#include "core/execution/gc_slots.h"

#include <functional>

namespace clr {

// Code that may be interrupted at any instruction: offsets [begin, end), in bytes from the method's start.
struct GcRange {
  std::uint64_t begin = 0, end = 0;
  friend bool operator==(const GcRange&, const GcRange&) = default;
};

// Reads the ranges where `bits` stand, and leaves them behind them. Throws Error: memory_missing, corrupt.
std::vector<GcRange> read_gc_ranges(GcBits& bits, const GcHeader& header, unsigned unit);

// The lives inside ranges. Offsets that lie in a range have a number, as if the ranges stood one behind the
// other; the lives of 64 such numbers, a chunk, are stored together. Offsets are in bytes of code.
class GcRangeLives {
public:
  // Where `bits` stand: read on request. `ranges` must outlive this.
  GcRangeLives(const std::vector<GcRange>& ranges, unsigned unit, std::uint32_t tracked);
  // Reads what stands before the chunks. Throws Error: memory_missing, corrupt.
  void begin(GcBits& bits);

  // The slots that are live at `offset`; nothing when it lies in no range. Cost: the vectors of a chunk, and
  // a pointer for each chunk before it without changes. Throws Error: memory_missing, corrupt.
  std::optional<GcSlotSet> at(GcBits& bits, std::uint64_t offset) const;

  // Calls `change(offset, slot, live)` in the order of offsets: for each range first the slots that are live
  // at its begin, then each change within it. Stops when `change` returns false. Throws Error:
  // memory_missing, corrupt.
  void for_each_change(GcBits& bits,
                       const std::function<bool(std::uint64_t, std::uint32_t, bool)>& change) const;

private:
  struct Chunk;
  Chunk read_chunk(GcBits& bits, std::uint64_t pointer) const;
  std::uint64_t pointer_of(GcBits& bits, std::uint64_t chunk) const;

  const std::vector<GcRange>& ranges_;
  unsigned unit_;
  std::uint32_t tracked_;
  std::uint64_t units_ = 0; // of all ranges
  unsigned pointer_bits_ = 0;
  std::uint64_t pointers_at_ = 0, chunks_at_ = 0; // bits
};

} // namespace clr
