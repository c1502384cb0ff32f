// Where the garbage collector keeps its heaps. The collector publishes the addresses of its variables and the
// places of their fields for its own debugger support, in a table of words (GcDacVars) that g_dacTable leads
// to. A standalone collector (libclrgc.so) fills in the same table. From .NET 11 on it has a contract: see
// gc_contract.h.
// Source: dotnet/runtime src/coreclr/gc/gcinterface.dac.h, gcinterface.dacvars.def, dac_gcheap_fields.h,
// dac_generation_fields.h, gc.cpp; measured on 8.0.0, 9.0.22, 10.0.0, 10.0.12 and 10.0.14.
#pragma once

#include "core/target/target.h"

#include <optional>
#include <string>
#include <vector>

namespace clr {

// One heap of the collector: there is one with the workstation collector, and one for each CPU in use with
// the server collector.
struct GcHeap {
  Address generations = 0;       // its generations, one record behind the other; 0: it could not be read
  Address ephemeral_segment = 0; // the segment in which young objects are allocated
  Address alloc_allocated = 0;   // where the objects of that segment end
  Address finalize_queue = 0;
};

// Bytes from the start of a structure to a field.
struct GcLayout {
  std::uint32_t generation_size = 0; // bytes from one generation to the next
  std::uint64_t allocation_context = 0, start_segment = 0;
  // Nothing: the heap consists of regions, and each generation has a list of its own. Else old and young
  // generations share segments, and this says where in them a generation begins.
  std::optional<std::uint64_t> allocation_start;
  // Of a segment or region.
  std::uint64_t allocated = 0, committed = 0, reserved = 0, mem = 0, flags = 0, next = 0;
  std::uint64_t segment_size = 0; // bytes that hold these fields
};

enum class BackgroundGc : std::uint8_t { marking, sweeping, none };

struct GcState {
  Address variables = 0; // GcDacVars
  bool server = false;
  bool regions() const { return !layout.allocation_start; }
  std::uint32_t generation_count = 0; // the youngest first; then those of large and of pinned objects
  GcLayout layout;
  std::vector<GcHeap> heaps;
  // Above 0 between the plan of a collection and its end: then not all memory holds whole objects.
  std::int32_t structures_invalid = 0;
  BackgroundGc background = BackgroundGc::none;
  Address handle_table_map = 0;
  std::vector<std::string> problems; // heaps that could not be read; at most max_heap_problems
};

// Adds what could not be read. Each heap, table and list of a damaged collector may have a fault of its own;
// those beyond max_heap_problems are left out.
constexpr std::size_t max_heap_problems = 100;
void add_problem(std::vector<std::string>& problems, std::string text);

// Reads it by the contract GC from .NET 11 on; before, by the table that the module at `runtime_base`
// exports. Throws Error{unsupported_contract} when there is none, or none of its entries leads to variables
// of a collector, which is so before the collector has been initialised; Error{memory_missing}, also when an
// entry leads to memory that is not there. Cost: 1 read for each entry of g_dacTable, some 20 more, and 2 for
// each heap.
GcState read_gc_state(const Target& target, Address runtime_base);

// The MethodTable of the objects that stand for free memory: by the descriptor, else by its shape. Throws
// Error{unsupported_contract} when no entry of g_dacTable leads to one; Error{memory_missing}. Cost: 1 read,
// else up to 2 for each entry.
Address free_object_method_table(const Target& target, Address runtime_base);

constexpr std::uint32_t max_gc_heaps = 1024;
constexpr std::uint64_t max_dac_table_bytes = 64 * 1024;

} // namespace clr
