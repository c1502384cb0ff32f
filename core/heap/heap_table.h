// All objects of the heap as columns of numbers: the form in which millions of them are compared.
#pragma once

#include "core/heap/heap_walk.h"

#include <vector>

namespace clr {

struct HeapTable {
  // By row, ascending by address, free memory among them.
  std::vector<std::uint64_t> addresses, sizes;
  std::vector<std::uint32_t> types;      // numbers of HeapTypes
  std::vector<std::uint8_t> parts, free; // HeapPart; 1 for free memory
  std::vector<HeapGap> gaps;
  bool interrupted = false; // then there are no rows

  std::size_t count() const { return addresses.size(); }
};

// 22 bytes for each object. Cost: twice that of walk_heap.
HeapTable make_heap_table(const HeapMap& map, HeapTypes& types, const HeapWalkOptions& options = {},
                          unsigned threads = heap_threads());

} // namespace clr
