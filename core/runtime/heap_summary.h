// What the heap of one stop held, by type: small enough to be kept, and compared with another.
#pragma once

#include "core/runtime/heap_report.h"

#include <string>
#include <vector>

namespace clr {

struct HeapSummaryType {
  std::string name, module; // `module` empty: not known
  HeapCount count;
};

struct HeapSummary {
  HeapCount all;                      // without free memory
  HeapCount free;                     // free memory between objects
  std::vector<HeapSummaryType> types; // ascending by name and module, each pair once
  // What a reader of the figures must know: sentences.
  std::vector<std::string> warnings;
};

// All types of the heap; those of one name and module are one. Throws Error{interrupted}. Cost: that of
// HeapReporter::statistics, and the names of all types.
HeapSummary summarize(HeapReporter& heap, const HeapWalkOptions& options = {});

// Orders the types, and makes one of those with the same name and module.
void put_in_order(std::vector<HeapSummaryType>& types);

struct HeapChange {
  std::string name, module;
  HeapCount before, after;

  std::int64_t bytes() const { return static_cast<std::int64_t>(after.bytes - before.bytes); }
  std::int64_t objects() const { return static_cast<std::int64_t>(after.objects - before.objects); }
  // "new", "gone", "grown", "shrunk"; "same" when the bytes are the same. By the bytes, unless all objects
  // came or went.
  std::string_view kind() const;
};

struct HeapChangeQuery {
  std::string glob;              // compared with the names of types; empty: every type
  std::uint64_t least_bytes = 0; // by which a type grew or shrank
  bool by_count = false;         // the order is by objects, else by bytes
  std::size_t top = 0;           // so many rows at most; 0: all
};

struct HeapDifference {
  HeapCount before, after; // of all types
  HeapCount free_before, free_after;
  std::size_t types = 0;        // that changed and that the query selects
  std::vector<HeapChange> rows; // those first that grew most
};

// The types whose objects or bytes are not the same. No reads.
HeapDifference compare(const HeapSummary& before, const HeapSummary& after,
                       const HeapChangeQuery& query = {});

} // namespace clr
