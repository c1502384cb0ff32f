// Code heaps of jitted code: from an address to the header of the block that holds it.
// Source: dotnet/runtime docs/design/datacontracts/ExecutionManager.md (EEJitManager);
// src/coreclr/vm/codeman.h.
#pragma once

#include "core/execution/code_block.h"
#include "core/execution/nibble_map.h"
#include "core/execution/walk_limit.h"
#include "core/target/record.h"

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>

namespace clr {

// The start of a block of a code heap. A block with neither a header nor a kind belongs to a method that is
// being compiled, or is none: no runtime gives the kind 0 to stubs.
struct HeapBlock {
  Address start = 0;
  Address header = 0;           // RealCodeHeader; 0 for a stub block
  std::optional<StubKind> stub; // kind of a stub block
  // Not 0: no block, but what a stub block before it does not reach; it reaches `least_end` for sure.
  Address least_end = 0;
};

class CodeHeaps {
public:
  // No reads. Throws Error{unsupported_contract} for an unknown layout.
  CodeHeaps(const Target& target, NibbleMapVersion version);

  // The last block that begins at or before `pc` in the heap of `section`, or the reason why there is none.
  // The block may have ended before `pc`. Cost: 1 read for the heap (once), those of NibbleMap::find_start, 1
  // for the block; what the memory lends is looked at where it lies.
  struct Found {
    std::optional<HeapBlock> block;
    std::string_view why_not; // part of a sentence, when there is no block
  };
  Found block_at(const RangeSection& section, Address pc) const;
  // Only where that block begins, when there is one. Cost: as block_at without the block.
  std::optional<Address> start_at(const RangeSection& section, Address pc) const;

  // Visits every block of the heap of `section`, in address order; where a stub ends by the map and nothing
  // begins, a block without header and stub. When `visit` returns false, the walk stops and the result is
  // false. Parts that cannot be read are reported to `hole` and skipped, and so is the first damaged unit of
  // each page of the map, for all of them; the rest, too, when `limit` is spent, which stops the walk.
  bool for_each_block(const RangeSection& section, const std::function<bool(const HeapBlock&)>& visit,
                      const std::function<void(Address, const std::string&)>& hole, WalkLimit& limit) const;

  // The end of the used part of the heap of `section`. 1 read, once.
  Address used_end(const RangeSection& section) const { return heap_of(section).node.end; }
  // A value that changes when blocks are added or removed. Cost: 1 read per 64 KiB of nibble map. Throws
  // Error{memory_missing}, Error{corrupt}.
  std::uint64_t fingerprint(const RangeSection& section) const;

  // Unwind entries say in 32 bits where in the heap code begins.
  static constexpr std::uint64_t max_heap_bytes = std::uint64_t{1} << 32;

private:
  struct Node {
    Address start = 0, end = 0, map_base = 0, map = 0;
  };
  // A heap, with its nibble map and its code where the memory lends them in one piece.
  struct Heap {
    Node node;
    std::uint64_t map_bytes = 0;
    std::span<const std::byte> map, code;
  };
  Node read_node(const RangeSection& section) const;
  const Heap& heap_of(const RangeSection& section) const;
  HeapBlock block_starting_at(const Heap& heap, Address start) const;
  // Visits the blocks that the units `units` of the map begin, the first of which stands for `unit_start`.
  // `stub`: the start of the last block before them, when it is a stub; set to the same of the units.
  bool for_each_start(const Heap& heap, std::span<const std::byte> units, Address unit_start,
                      const std::function<bool(const HeapBlock&)>& visit,
                      const std::function<void(Address, const std::string&)>& hole, WalkLimit& limit,
                      std::optional<Address>& stub) const;

  const Target* target_;
  NibbleMapVersion version_;
  RecordSpan span_{"CodeHeapListNode"};
  std::int64_t start_, end_, map_base_, map_;
  std::uint64_t last_stub_kind_;
  mutable std::unordered_map<Address, Heap> heaps_; // by node
  mutable EmptyPages empty_pages_;
};

} // namespace clr
