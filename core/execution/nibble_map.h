// Nibble maps: they lead from an address in a code heap to the start of its code block.
// Source: dotnet/runtime docs/design/datacontracts/ExecutionManager.md (NibbleMap);
// src/coreclr/vm/nibblemapmacros.h, codeman.cpp.
#pragma once

#include "core/target/target.h"

#include <cstddef>
#include <optional>
#include <unordered_set>

namespace clr {

// Version 1 of the contract is linear: the search walks back to the start before the address. In version 2
// (.NET 10), a unit that one method covers completely holds a pointer back to the method's start. Each unit
// shows which encoding it has, so the linear walk that stops at pointers reads both. It is used for runtimes
// that publish a map but no version.
enum class NibbleMapVersion : std::uint8_t { linear = 1, constant_time = 2 };

// The pages of nibble maps in which nothing begins, as far as look-ups came by them. They are valid during
// one stop, for all heaps: those of a hostile core may share one map.
class EmptyPages {
public:
  bool contains(Address page) const { return pages_.contains(page); }
  void add(Address page) {
    if (pages_.size() >= max_empty_pages) pages_.clear();
    pages_.insert(page);
  }

  // Pages of the maps of 64 GiB of code.
  static constexpr std::size_t max_empty_pages = 1 << 18;

private:
  std::unordered_set<Address> pages_;
};

class NibbleMap {
public:
  // The map of the heap whose code begins at `map_base`; the units of the map are at `units`. `lent` are the
  // bytes there, as far as the memory lends them. `empty`, which must outlive this, keeps what long searches
  // learn. No reads.
  NibbleMap(const Target& target, NibbleMapVersion version, Address map_base, Address units,
            EmptyPages& empty, std::span<const std::byte> lent = {})
      : target_(&target), version_(version), map_base_(map_base), units_(units), empty_(&empty), lent_(lent) {
  }

  // Start of the last block at or before `pc`; nothing when there is none. The map contains no lengths, so
  // the block may have ended before `pc`. Cost: none for units that are lent; version 2: at most 2 reads;
  // version 1: one read per 256 bytes back to the start, and after single_units of them one per page of the
  // map (256 KiB of code), at most max_units_back; none for pages that are known to be empty. Throws
  // Error{memory_missing}, Error{corrupt}.
  std::optional<Address> find_start(Address pc) const;

  static constexpr std::uint64_t bucket_bytes = 32, buckets_per_unit = 8,
                                 unit_bytes = bucket_bytes * buckets_per_unit;
  // Nibbles 1 to 8 give the place of a start within its bucket. The values 9 to 12 in the low bits of a unit
  // mark it as a pointer back.
  static constexpr std::uint32_t last_nibble = 8, last_pointer_nibble = 12;
  // 256 MiB of code without a start; no method is that large.
  static constexpr std::uint64_t max_units_back = 1u << 20;
  // Units that a search looks at one by one before it takes pages: 16 KiB of code; most starts are nearer.
  static constexpr std::uint64_t single_units = 64;

  // is_pointer() tells whether a unit is a pointer back; decode_pointer() gives its start relative to the map
  // base.
  static bool is_pointer(std::uint32_t unit) { return (unit & 15) > 8; }
  // Whether a unit is one that the runtime writes: a pointer, or eight places.
  static bool is_valid(std::uint32_t unit);
  static std::uint64_t decode_pointer(std::uint32_t unit) { return (unit & ~15u) + ((unit & 15) - 9) * 4; }

private:
  std::uint32_t unit_of(std::uint64_t bucket) const;
  // The units [result, end) are 0. The result is not below `lowest`, and is where the first one that is not 0
  // or that cannot be read ends.
  std::uint64_t skip_empty(std::uint64_t end, std::uint64_t lowest) const;
  // The same of the units [first, end).
  std::uint64_t skip_empty_in(std::uint64_t first, std::uint64_t end) const;

  const Target* target_;
  NibbleMapVersion version_;
  Address map_base_;
  Address units_;
  EmptyPages* empty_;
  std::span<const std::byte> lent_;
};

} // namespace clr
