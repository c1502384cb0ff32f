// A summary of a heap as a file (`clr heap --save`), and the comparison of two.
#pragma once

#include "core/memory/path_map.h"
#include "core/report/json.h"
#include "core/runtime/heap_summary.h"

#include <string>
#include <string_view>

namespace clr {

// The whole content of the file: JSON, one type a line.
std::string heap_summary_text(const HeapSummary& summary);
// Throws Error{invalid_argument} when `text` is no such file, Error{unsupported_contract} for one of a later
// form, Error{corrupt} when it contradicts itself. `path` stands in the texts.
HeapSummary parse_heap_summary(std::string_view text, const std::string& path);

// What `path` tells: a file of heap_summary_text(), or the heap of a core, which is read for it and closed
// again. Throws as parse_heap_summary, CoreSession::open, HeapReporter and summarize do, Error{io}, and
// Error{unsupported_contract} for a compressed core. Cost of a core: that of summarize.
HeapSummary open_heap_summary(const std::string& path, const PathMap& paths,
                              const HeapWalkOptions& options = {});

// The form of `clr heap --diff --json`; `other` is the name of what the heap is compared with.
Json to_json(const HeapDifference& difference, const std::string& other);

constexpr std::size_t max_heap_summary_bytes = 32 << 20;
constexpr std::size_t max_heap_summary_values = 4'000'000;                // of JSON; a type has five
constexpr std::uint64_t max_heap_summary_number = std::uint64_t{1} << 56; // objects or bytes

} // namespace clr
