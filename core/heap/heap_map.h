// Where the managed heap's objects lie: the ranges of its segments or regions, and the memory that was handed
// out to threads and holds no objects yet.
// Source: dotnet/runtime src/coreclr/gc/gc.cpp, gcpriv.h; measured on 8.0.0 to 10.0.14.
#pragma once

#include "core/heap/gc_state.h"

#include <string>
#include <string_view>
#include <vector>

namespace clr {

enum class HeapPart : std::uint8_t { gen0, gen1, gen2, loh, poh, frozen };
constexpr std::size_t heap_part_count = 6;
// "gen0", "gen1", "gen2", "loh" (large objects), "poh" (pinned objects), "frozen".
std::string_view to_string(HeapPart part);

// Objects that lie one behind the other.
struct HeapRange {
  Address begin = 0, end = 0;
  HeapPart part = HeapPart::gen0;
  std::uint32_t heap = 0;    // its index
  Address segment = 0;       // the collector's record of it
  Address segment_begin = 0; // the first object of the segment; a segment may hold several generations
  Address committed_end = 0, reserved_end = 0;

  std::uint64_t size() const { return end - begin; }
};

// Memory that was given to a thread: [begin, end) holds no objects, nor do the bytes of the smallest object
// behind it, which are reserved so that the rest can be made a free object.
struct AllocationContext {
  Address begin = 0, end = 0;
  Address thread = 0; // the runtime's Thread that allocates there; 0: the collector itself
};

struct HeapMap {
  GcState state;
  Address free_object = 0;                 // the MethodTable of free memory
  std::vector<HeapRange> ranges;           // ascending, disjoint
  std::vector<AllocationContext> contexts; // ascending
  std::uint64_t committed_bytes = 0;       // of all segments
  std::vector<std::string> problems;       // what could not be read, or is contradictory

  // The range that holds `address`; null when none does. No reads.
  const HeapRange* find(Address address) const;
  std::uint64_t bytes() const; // of all ranges
};

// Throws as read_gc_state and free_object_method_table do. A heap, list or segment that cannot be read costs
// itself. Cost: that of both; 1 read for each generation and each segment; some 10 for each thread.
HeapMap read_heap_map(const Target& target, Address runtime_base);

constexpr std::size_t max_heap_segments = 1 << 20;
constexpr std::uint64_t max_heap_segment_bytes = std::uint64_t{1} << 42;

} // namespace clr
