// The managed heap as JSON: the forms of `clr heap --json` and `clr heap --stat --json`.
#pragma once

#include "core/report/json.h"
#include "core/report/json_writer.h"
#include "core/runtime/heap_report.h"
#include "core/stack/threads.h"

namespace clr {

// The heaps with their segments, as they were counted.
Json heap_json(const HeapMap& map, const HeapStatistics& statistics);
// A row of `clr alloc --json`. `thread` null: not known, or the collector; `range` null: none.
Json allocation_json(const AllocationContext& context, const RuntimeThread* thread, const HeapRange* range);
// The form of `clr heap --free --json`.
Json free_json(HeapReporter& heap, const HeapFreeSpace& found);
// What `report` holds; `part` was asked for.
// With `live`: whether the objects were counted that roots reach, or the others.
Json to_json(const HeapTypeReport& report, const HeapMap& map, std::optional<HeapPart> part,
             std::optional<bool> live = {});
// One row of it.
Json to_json(const HeapTypeRow& row);
// A row of `clr objects --json`.
void write_json(JsonWriter& json, const HeapObjectRow& row);
// 0, 1, 2, "loh", "poh", "frozen".
Json generation_json(HeapPart part);

} // namespace clr
