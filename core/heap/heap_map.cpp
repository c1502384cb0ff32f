#include "core/heap/heap_map.h"

#include "core/stack/threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

namespace clr {
namespace {

constexpr Address page = 4096;
// Flags of a segment.
constexpr std::uint64_t read_only = 1;
// Numbers of the generations behind those of small objects.
constexpr std::uint32_t oldest = 2, large = 3, pinned = 4;

class MapReader {
public:
  MapReader(const Target& target, HeapMap& map) : target_(target), map_(map), layout_(map.state.layout) {}

  void read() {
    for (std::uint32_t i = 0; i < map_.state.heaps.size(); ++i) read_heap(i);
    read_threads_contexts();
    sort_ranges();
    sort_contexts();
  }

private:
  void problem(std::string text) { add_problem(map_.problems, std::move(text)); }

  template<typename Act>
  bool attempt(std::string_view what, const Act& act) {
    try {
      act();
      return true;
    } catch (const Error& error) {
      problem(fmt::format("{}: {}", what, error.what()));
      return false;
    }
  }

  Address generation(const GcHeap& heap, std::uint32_t number) const {
    return heap.generations + Address{number} * layout_.generation_size;
  }

  void read_heap(std::uint32_t index) {
    const GcHeap& heap = map_.state.heaps[index];
    if (heap.generations == 0) return;
    const std::uint32_t count = map_.state.generation_count;
    const std::uint32_t lists[] = {large, oldest, 1, 0, pinned};
    for (const std::uint32_t number : lists) {
      if (number >= count) continue;
      // Without regions, all generations of small objects are in the segments of the oldest.
      if (number < oldest && !map_.state.regions()) continue;
      attempt(fmt::format("heap {}, the segments of generation {}", index, number),
              [&] { read_segments(index, number); });
    }
    for (std::uint32_t number = 0; number < count; ++number)
      attempt(fmt::format("heap {}, generation {}", index, number),
              [&] { add_context(generation(heap, number) + layout_.allocation_context); });
  }

  void read_segments(std::uint32_t heap, std::uint32_t number) {
    const Address list = generation(map_.state.heaps[heap], number) + layout_.start_segment;
    for (Address at = target_.read_pointer(list); at != 0;) {
      if (segments_.size() >= max_heap_segments)
        throw_corrupt(at, fmt::format("more than {} segments", max_heap_segments));
      // With segments, lists of several generations lead to the same ones.
      if (!segments_.insert(at).second) return;
      at = read_segment(heap, number, at);
    }
  }

  // Returns the next one of the list.
  Address read_segment(std::uint32_t heap, std::uint32_t number, Address at) {
    const auto field = [&](std::uint64_t offset) { return target_.read_pointer(at + offset); };
    const GcHeap& owner = map_.state.heaps[heap];
    const Address next = field(layout_.next);
    HeapRange range{.begin = field(layout_.mem), .heap = heap, .segment = at};
    range.segment_begin = range.begin;
    const bool young = at == owner.ephemeral_segment;
    // Of this segment, the collector brings `allocated` up to date only when it collects.
    range.end = young ? owner.alloc_allocated : field(layout_.allocated);
    range.committed_end = field(layout_.committed);
    range.reserved_end = field(layout_.reserved);
    const bool frozen = (field(layout_.flags) & read_only) != 0;
    range.part = frozen             ? HeapPart::frozen
                 : number == large  ? HeapPart::loh
                 : number == pinned ? HeapPart::poh
                                    : static_cast<HeapPart>(number);
    if (range.begin % target_.pointer_size() != 0 || range.end < range.begin ||
        range.reserved_end < range.end || range.end - range.begin > max_heap_segment_bytes) {
      problem(fmt::format("segment {:#x}: its objects cannot be from {:#x} to {:#x} (of {:#x})", at,
                          range.begin, range.end, range.reserved_end));
      return next;
    }
    const Address committed_begin = range.begin / page * page;
    if (range.committed_end >= range.end && range.committed_end <= range.reserved_end)
      map_.committed_bytes += range.committed_end - committed_begin;
    if (young && !map_.state.regions())
      split(range, owner);
    else
      map_.ranges.push_back(range);
    return next;
  }

  // The segment of young objects holds three generations, the oldest first.
  void split(const HeapRange& whole, const GcHeap& heap) {
    Address bounds[] = {whole.begin, whole.end, whole.end, whole.end};
    attempt(fmt::format("segment {:#x}, where its generations begin", whole.segment), [&] {
      const Address first = target_.read_pointer(generation(heap, 1) + *layout_.allocation_start),
                    zeroth = target_.read_pointer(generation(heap, 0) + *layout_.allocation_start);
      if (first < whole.begin || zeroth < first || zeroth > whole.end ||
          (first - whole.begin) % target_.pointer_size() != 0 ||
          (zeroth - whole.begin) % target_.pointer_size() != 0)
        throw_corrupt(whole.segment, "generations that do not follow each other");
      bounds[1] = first;
      bounds[2] = zeroth;
    });
    for (std::size_t i = 0; i < 3; ++i) {
      HeapRange part = whole;
      part.begin = bounds[i];
      part.end = bounds[i + 1];
      part.part = static_cast<HeapPart>(2 - i);
      if (part.size() != 0) map_.ranges.push_back(part);
    }
  }

  void add_context(Address at, Address thread = 0) {
    const auto pointer = target_.find_offset("GCAllocContext", "Pointer").value_or(0),
               limit = target_.find_offset("GCAllocContext", "Limit").value_or(target_.pointer_size());
    const AllocationContext context{target_.read_pointer(at + static_cast<Address>(pointer)),
                                    target_.read_pointer(at + static_cast<Address>(limit)), thread};
    if (context.begin != 0 && context.begin <= context.end) map_.contexts.push_back(context);
  }

  void read_threads_contexts() {
    std::int64_t locals = 0, context = 0, inner = 0;
    const bool known = attempt("the memory that threads were given", [&] {
      locals = target_.offset("Thread", "RuntimeThreadLocals");
      context = target_.offset("RuntimeThreadLocals", "AllocContext");
      // Runtimes before .NET 11 have nothing before it, and do not say so.
      inner = target_.descriptor().version >= descriptor_format_names
                  ? target_.offset("EEAllocContext", "GCAllocationContext")
                  : target_.find_offset("EEAllocContext", "GCAllocationContext").value_or(0);
    });
    if (!known) return;
    attempt("the list of threads", [&] {
      const ThreadList list = read_threads(target_);
      if (!list.problem.empty()) problem(list.problem);
      for (const RuntimeThread& thread : list.threads)
        attempt(fmt::format("what thread {:#x} allocates", thread.address), [&] {
          const Address at = target_.read_pointer(thread.address + static_cast<Address>(locals));
          if (at != 0) add_context(at + static_cast<Address>(context + inner), thread.address);
        });
    });
  }

  void sort_ranges() {
    std::ranges::sort(map_.ranges, {}, &HeapRange::begin);
    std::vector<HeapRange> disjoint;
    disjoint.reserve(map_.ranges.size());
    for (const HeapRange& range : map_.ranges) {
      if (!disjoint.empty() && range.begin < disjoint.back().end)
        problem(fmt::format("segment {:#x} lies in memory of segment {:#x}", range.segment,
                            disjoint.back().segment));
      else
        disjoint.push_back(range);
    }
    map_.ranges = std::move(disjoint);
  }

  // Those that lie within a range.
  void sort_contexts() {
    std::erase_if(map_.contexts, [&](const AllocationContext& context) {
      const HeapRange* range = map_.find(context.begin);
      return range == nullptr || context.end > range->end;
    });
    std::ranges::sort(map_.contexts, {}, &AllocationContext::begin);
    const auto [first, last] = std::ranges::unique(map_.contexts, {}, &AllocationContext::begin);
    map_.contexts.erase(first, last);
  }

  const Target& target_;
  HeapMap& map_;
  const GcLayout& layout_;
  std::unordered_set<Address> segments_;
};

} // namespace

std::string_view to_string(HeapPart part) {
  switch (part) {
  case HeapPart::gen0:
    return "gen0";
  case HeapPart::gen1:
    return "gen1";
  case HeapPart::gen2:
    return "gen2";
  case HeapPart::loh:
    return "loh";
  case HeapPart::poh:
    return "poh";
  case HeapPart::frozen:
    return "frozen";
  }
  return "";
}

const HeapRange* HeapMap::find(Address address) const {
  auto after = std::ranges::upper_bound(ranges, address, {}, &HeapRange::begin);
  if (after == ranges.begin()) return nullptr;
  --after;
  return address < after->end ? &*after : nullptr;
}

std::uint64_t HeapMap::bytes() const {
  std::uint64_t sum = 0;
  for (const HeapRange& range : ranges) sum += range.size();
  return sum;
}

HeapMap read_heap_map(const Target& target, Address runtime_base) {
  HeapMap map{.state = read_gc_state(target, runtime_base)};
  map.free_object = free_object_method_table(target, runtime_base);
  map.problems = map.state.problems;
  MapReader(target, map).read();
  return map;
}

} // namespace clr
