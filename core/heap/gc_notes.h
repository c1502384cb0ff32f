// What the collector notes of itself besides its heaps: the last time that it could not give memory, whether
// it adapts the number of its heaps, and the addresses that it reserved.
// Source: dotnet/runtime src/coreclr/gc/gcinterface.dac.h (oom_history), gcinterface.dacvars.def,
// gcpriv.h (card_table_info); docs/design/datacontracts/GC.md.
#pragma once

#include "core/heap/gc_state.h"
#include "core/memory/memory_range.h"

#include <optional>
#include <string>
#include <vector>

namespace clr {

// The last time that a heap could not give memory. Later allocations may have succeeded.
struct GcFailure {
  std::uint32_t heap = 0;
  std::uint32_t reason = 0;      // as the collector counts them; never 0
  std::uint64_t asked = 0;       // bytes of the allocation that failed
  std::uint64_t collection = 0;  // the number of the collection before it
  std::uint32_t system_call = 0; // what the system refused; 0: nothing
  std::uint64_t refused = 0;     // bytes that the system refused
  bool large = false;            // the allocation was one of large objects
};

// "the system gave no memory for the heap (committing 4096 bytes of a segment)": a part of a sentence.
std::string failure_text(const GcFailure& failure);

struct GcNotes {
  // DATAS: the server collector gives up heaps that the program does not need. Nothing: it does not say, or
  // it is the workstation collector, which has one heap.
  std::optional<bool> adapts;
  std::vector<GcFailure> failures;
  // The addresses between which the collector places its heaps; size 0: not known.
  MemoryRange reserved;
  // Its tables of cards, bricks and marks, as far as they may reach; size 0: not known.
  MemoryRange tables;
  std::vector<std::string> problems; // what could not be read: sentences
};

// Never throws because of the target. Cost: some 10 reads, and 8 for each heap.
GcNotes read_gc_notes(const Target& target, const GcState& state);

// Bytes of the collector's tables, and of addresses that it reserves.
constexpr std::uint64_t max_gc_reserved_bytes = std::uint64_t{1} << 47;

} // namespace clr
