// What the memory of a process is at all: the managed heap, its code, the runtime's own, stacks, files, and
// the rest, which other native code has asked for.
#pragma once

#include "core/heap/gc_notes.h"
#include "core/report/json.h"
#include "core/report/save_core.h"
#include "core/runtime/heap_report.h"
#include "core/runtime/memory_limit.h"

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace clr {

// Who has a byte of memory. Where several could, the first of this list has it.
enum class MemoryOwner : std::uint8_t {
  reserved, // nobody may read, write or run it: addresses without memory
  gc,
  code, // compiled methods
  stacks,
  loader, // types, methods and stubs of the runtime
  files,  // mapped from files: libraries and assemblies
  native, // what none of the others has
};
constexpr std::size_t memory_owner_count = 7;
// "reserved", "gc", "code", "stacks", "loader", "files", "native": the names in JSON.
std::string_view to_string(MemoryOwner owner);

struct OwnedRange {
  MemoryRange range;
  MemoryOwner owner = MemoryOwner::native;
};

// The bytes of `mapped` by their owners: a byte that several of `owned` have counts once, and bytes outside
// of `mapped` do not count. So the sum is the size of all that is mapped. No reads.
using OwnedBytes = std::array<std::uint64_t, memory_owner_count>;
OwnedBytes owned_bytes(std::vector<MemoryRange> mapped, const std::vector<OwnedRange>& owned);

struct MemoryUse {
  OwnedBytes bytes{};     // by MemoryOwner
  std::uint64_t all = 0;  // 0: nothing is known of the mappings
  std::size_t stacks = 0; // whose mappings are known
  GcNotes gc;
  std::optional<HeapLimit> limit;        // of the heap
  std::vector<std::string> limit_unseen; // places that may limit it, and could not be looked at
  std::vector<std::string> problems;
};

// Everything that is mapped is attributed by what the runtime says of itself, and by what is known of the
// mapping: the heap by its segments and the addresses that the collector reserves for regions; code by the
// map of code; stacks by the runtime's threads and by stack pointers; the loader's memory by types that lie
// in it: those that `heap` has met, so that it should have counted. Never throws because of the target, nor
// because of `source`: then nothing is known of the mappings, and `problems` says why. Cost: that of
// `source`, ExecutionManager::sections, read_threads, read_gc_notes and heap_limit.
MemoryUse memory_use(Runtime& runtime, HeapReporter& heap, const std::function<SaveSource()>& source);

// The parts "process" and "limits" of `clr heap --json`.
void add_to_json(Json& json, const MemoryUse& use);

} // namespace clr
