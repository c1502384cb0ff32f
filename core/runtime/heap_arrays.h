// The arrays of the heap: the largest ones, and those of which most holds nothing.
#pragma once

#include "core/heap/array_reader.h"
#include "core/runtime/heap_report.h"

#include <vector>

namespace clr {

struct HeapArray {
  HeapObjectRow object;
  ArrayCounts counts;
};

struct ArrayQuery {
  HeapQuery objects;   // of which `glob`, `part`, `least_bytes` of one array and `top` count
  bool sparse = false; // rows in descending order of empty bytes, and none without; else of bytes
};

struct HeapArrays {
  std::vector<HeapArray> rows;
  std::uint64_t arrays = 0, bytes = 0; // all that the query selects
  std::uint64_t empty_bytes = 0;       // of all with `sparse`, else of the rows
  std::vector<HeapGap> gaps;
  bool interrupted = false; // then there may be more
};

// Throws as ArrayReader does. Cost: that of HeapReporter::for_each_object; with `sparse` all bytes of the
// arrays are read, else those of the rows.
HeapArrays find_arrays(HeapReporter& heap, const ArrayQuery& query, const HeapWalkOptions& options = {});

} // namespace clr
