#include "core/heap/gc_contract.h"

#include <fmt/format.h>

#include <algorithm>

namespace clr {
namespace {

constexpr std::uint32_t least_listed_generations = 4, most_listed_generations = 8;

// Words of GCIdentifiers, a list with commas.
bool says(std::string_view identifiers, std::string_view wanted) {
  while (!identifiers.empty()) {
    const std::size_t comma = std::min(identifiers.find(','), identifiers.size());
    std::string_view word = identifiers.substr(0, comma);
    while (word.starts_with(' ')) word.remove_prefix(1);
    while (word.ends_with(' ')) word.remove_suffix(1);
    if (word == wanted) return true;
    identifiers.remove_prefix(std::min(comma + 1, identifiers.size()));
  }
  return false;
}

std::uint64_t place(const Target& target, std::string_view type, std::string_view field) {
  const std::int64_t offset = target.offset(type, field);
  if (offset < 0)
    throw Error(ErrorKind::unsupported_contract, fmt::format("{}.{} at offset {}", type, field, offset));
  return static_cast<std::uint64_t>(offset);
}

GcLayout layout_of(const Target& target) {
  GcLayout layout;
  layout.generation_size = static_cast<std::uint32_t>(target.size_of("Generation"));
  if (layout.generation_size == 0)
    throw Error(ErrorKind::unsupported_contract, "the runtime's descriptor has generations of no size");
  layout.allocation_context = place(target, "Generation", "AllocationContext");
  layout.start_segment = place(target, "Generation", "StartSegment");
  if (target.find_offset("Generation", "AllocationStart"))
    layout.allocation_start = place(target, "Generation", "AllocationStart");
  const auto field = [&](std::string_view name) {
    const std::uint64_t at = place(target, "HeapSegment", name);
    layout.segment_size = std::max(layout.segment_size, at + target.pointer_size());
    return at;
  };
  layout.allocated = field("Allocated");
  layout.committed = field("Committed");
  layout.reserved = field("Reserved");
  layout.mem = field("Mem");
  layout.flags = field("Flags");
  layout.next = field("Next");
  return layout;
}

Address variable(const Target& target, std::string_view global) {
  return target.read_pointer(target.global(global));
}

// Where in a queue the ends of its parts stand; 0: no queue, or it is not published.
Address fill_pointers(const Target& target, Address queue) {
  const auto offset = target.find_offset("CFinalize", "FillPointers");
  return queue == 0 || !offset ? 0 : queue + static_cast<Address>(*offset);
}

void add_server_heaps(const Target& target, GcState& state) {
  const std::uint32_t count = target.read_u32(target.global("NumHeaps"));
  const Address array = variable(target, "Heaps");
  if (count > max_gc_heaps) throw_corrupt(array, fmt::format("{} heaps", count));
  for (std::uint32_t i = 0; i < count; ++i) {
    // One that cannot be read keeps its number.
    GcHeap& added = state.heaps.emplace_back();
    try {
      const Address heap = target.read_pointer(array + Address{i} * target.pointer_size());
      const auto field = [&](std::string_view name) {
        return target.read_pointer(target.field_address(heap, "GCHeap", name));
      };
      added = {.generations = target.field_address(heap, "GCHeap", "GenerationTable"),
               .ephemeral_segment = field("EphemeralHeapSegment"),
               .alloc_allocated = field("AllocAllocated"),
               .finalize_queue = fill_pointers(target, field("FinalizeQueue"))};
    } catch (const Error& error) {
      add_problem(state.problems, fmt::format("heap {}: {}", i, error.what()));
    }
  }
}

} // namespace

GcState read_gc_contract(const Target& target) {
  target.require_contract("GC");
  GcState state;
  state.layout = layout_of(target);
  state.generation_count = static_cast<std::uint32_t>(target.global("TotalGenerationCount"));
  if (state.generation_count < least_listed_generations || state.generation_count > most_listed_generations)
    throw Error(ErrorKind::unsupported_contract,
                fmt::format("a collector with {} generations", state.generation_count));
  state.structures_invalid = target.read_i32(target.global("StructureInvalidCount"));
  if (const auto background = target.find_global("CurrentGCState")) switch (target.read_u32(*background)) {
    case 0:
      state.background = BackgroundGc::marking;
      break;
    case 1:
      state.background = BackgroundGc::sweeping;
      break;
    default:
      state.background = BackgroundGc::none;
    }
  state.handle_table_map = target.find_global("HandleTableMap").value_or(0);
  const std::string identifiers = target.find_global_string("GCIdentifiers").value_or(std::string());
  state.server = says(identifiers, "server");
  if (!state.server && !says(identifiers, "workstation"))
    throw Error(ErrorKind::unsupported_contract,
                fmt::format("a collector of unknown kind: GCIdentifiers \"{}\"", identifiers));
  if (state.server) {
    add_server_heaps(target, state);
    return state;
  }
  state.variables = target.global("GCHeapGenerationTable");
  state.heaps.push_back({.generations = state.variables,
                         .ephemeral_segment = variable(target, "GCHeapEphemeralHeapSegment"),
                         .alloc_allocated = variable(target, "GCHeapAllocAllocated"),
                         .finalize_queue = fill_pointers(target, variable(target, "GCHeapFinalizeQueue"))});
  return state;
}

} // namespace clr
