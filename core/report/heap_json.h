// The managed heap as JSON: the forms of `clr heap --json` and `clr heap --stat --json`.
#pragma once

#include "core/report/json.h"
#include "core/runtime/heap_report.h"

namespace clr {

// The heaps with their segments. Counts the heap.
Json heap_json(HeapReporter& heap, const HeapWalkOptions& options = {});
// What `report` holds; `part` was asked for.
Json to_json(const HeapTypeReport& report, const HeapMap& map, std::optional<HeapPart> part);
// One row of it.
Json to_json(const HeapTypeRow& row);
// 0, 1, 2, "loh", "poh", "frozen".
Json generation_json(HeapPart part);

} // namespace clr
