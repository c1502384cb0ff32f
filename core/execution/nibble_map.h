// Nibble maps: they lead from an address in a code heap to the start of its code block.
// Source: dotnet/runtime docs/design/datacontracts/ExecutionManager.md (NibbleMap);
// src/coreclr/vm/nibblemapmacros.h, codeman.cpp.
#pragma once

#include "core/target/target.h"

#include <optional>

namespace clr {

// Version 1 of the contract is linear: the search walks back to the start before the address. In version 2
// (.NET 10), a unit that one method covers completely holds a pointer back to the method's start. Each unit
// shows which encoding it has, so the linear walk that stops at pointers reads both. It is used for runtimes
// that publish a map but no version.
enum class NibbleMapVersion : std::uint8_t { linear = 1, constant_time = 2 };

class NibbleMap {
public:
  // The map of the heap whose code begins at `map_base`; the units of the map are at `units`. `lent` are the
  // bytes there, as far as the memory lends them. No reads.
  NibbleMap(const Target& target, NibbleMapVersion version, Address map_base, Address units,
            std::span<const std::byte> lent = {})
      : target_(&target), version_(version), map_base_(map_base), units_(units), lent_(lent) {}

  // Start of the last block at or before `pc`; nothing when there is none. The map contains no lengths, so
  // the block may have ended before `pc`. Cost: none for units that are lent; version 2: at most 2 reads;
  // version 1: one read per 256 bytes back to the start, at most max_units_back. Throws
  // Error{memory_missing}, Error{corrupt}.
  std::optional<Address> find_start(Address pc) const;

  static constexpr std::uint64_t bucket_bytes = 32, buckets_per_unit = 8,
                                 unit_bytes = bucket_bytes * buckets_per_unit;
  // Nibbles 1 to 8 give the place of a start within its bucket. The values 9 to 12 in the low bits of a unit
  // mark it as a pointer back.
  static constexpr std::uint32_t last_nibble = 8, last_pointer_nibble = 12;
  // 256 MiB of code without a start; no method is that large.
  static constexpr std::uint64_t max_units_back = 1u << 20;

  // is_pointer() tells whether a unit is a pointer back; decode_pointer() gives its start relative to the map
  // base.
  static bool is_pointer(std::uint32_t unit) { return (unit & 15) > 8; }
  // Whether a unit is one that the runtime writes: a pointer, or eight places.
  static bool is_valid(std::uint32_t unit);
  static std::uint64_t decode_pointer(std::uint32_t unit) { return (unit & ~15u) + ((unit & 15) - 9) * 4; }

private:
  std::uint32_t unit_of(std::uint64_t bucket) const;
  const Target* target_;
  NibbleMapVersion version_;
  Address map_base_;
  Address units_;
  std::span<const std::byte> lent_;
};

} // namespace clr
