// Answers for many addresses at once: a table of owners, and columns of numbers.
#pragma once

#include "capi/inspection.h"
#include "core/heap/heap_table.h"
#include "include/lldb_clr.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace clr::capi {

struct BulkAnswer {
  std::vector<std::uint32_t> owner;  // index in `owners`
  std::vector<std::uint64_t> offset; // bytes from the method's start; UINT64_MAX: none
  std::vector<clr_place> places;     // empty: lines were not requested
  std::string owners, files;         // JSON arrays
};

// Resolves each different address once, in ascending order. Never throws because of target data;
// std::bad_alloc.
BulkAnswer symbolize(Inspection& inspection, std::span<const std::uint64_t> addresses, bool lines);

// All objects of the heap, and as JSON {"types": [...], "problems": [...]} of the types by their numbers.
struct HeapColumns {
  HeapTable table;
  std::string json;
};
HeapColumns heap_columns(Inspection& inspection);

} // namespace clr::capi
