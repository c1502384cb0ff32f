// The managed heap as JSON: the forms of `clr heap`, `clr objects`, `clr strings`, `clr arrays` and `clr
// alloc` with --json.
#pragma once

#include "core/report/json.h"
#include "core/report/json_writer.h"
#include "core/runtime/heap_arrays.h"
#include "core/runtime/heap_report.h"
#include "core/runtime/heap_strings.h"
#include "core/stack/threads.h"

#include <unordered_map>

namespace clr {

// The heaps with their segments, as they were counted.
Json heap_json(const HeapMap& map, const HeapStatistics& statistics);
// The threads that were given memory to allocate from, by the addresses of their records.
class ContextOwners {
public:
  // `threads` must outlive this.
  explicit ContextOwners(const ThreadList& threads);
  // The thread that was given this memory; null: the collector, or none that is known.
  const RuntimeThread* of(const AllocationContext& context) const;

private:
  std::unordered_map<Address, const RuntimeThread*> threads_;
};
// A row of `clr alloc --json`. `owner`: of the context, by ContextOwners.
Json allocation_json(const AllocationContext& context, const RuntimeThread* owner, const HeapMap& map);
// A row of `clr strings --json`; `counted`: one of a text that several strings have.
Json to_json(const HeapString& string, bool counted);
// The form of `clr arrays --json`, and a row of it.
Json to_json(const HeapArrays& found);
Json to_json(const HeapArray& row);
// The form of `clr heap --free --json`, which shows so many of the largest blocks.
constexpr std::size_t largest_free_blocks = 20;
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
