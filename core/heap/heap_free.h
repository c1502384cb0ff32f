// Free memory between objects: how much there is in each generation, in blocks of which sizes, and the
// largest blocks with what follows them, because an object that does not move is what keeps memory free
// before it.
#pragma once

#include "core/heap/heap_statistics.h"

#include <array>
#include <vector>

namespace clr {

// The least sizes of the classes; a block belongs to the last one that is not above its size.
constexpr std::array<std::uint64_t, 9> free_classes = {0,      64,        256,        1024,   4096,
                                                       16'384, 64 * 1024, 256 * 1024, 1 << 20};

struct FreeBlock {
  Address address = 0;
  std::uint64_t bytes = 0;
  HeapPart part = HeapPart::gen0;
  Address next = 0;      // the object behind it; 0: none in its range
  Address next_type = 0; // its MethodTable
};

struct FreePart {
  std::uint64_t bytes = 0; // of all ranges of the part
  HeapCount free;
  std::array<HeapCount, free_classes.size()> classes;
};

struct HeapFreeSpace {
  std::array<FreePart, heap_part_count> parts;
  std::vector<FreeBlock> largest; // descending
  std::vector<HeapGap> gaps;
  bool interrupted = false; // then the counts are too small
};

// Cost: that of walk_heap. At most `most` of the largest blocks are kept.
HeapFreeSpace count_free_space(const HeapMap& map, HeapTypes& types, std::size_t most,
                               const HeapWalkOptions& options = {}, unsigned threads = heap_threads());

} // namespace clr
