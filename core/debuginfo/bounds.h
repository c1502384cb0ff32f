// The block of a method's debug info that maps native offsets to IL offsets, in the codings of .NET 7 to 11.
// Source: dotnet/runtime docs/design/datacontracts/DebugInfo.md; src/coreclr/vm/debuginfostore.cpp.
#pragma once

#include "core/debuginfo/il_map.h"
#include "core/debuginfo/nibble_reader.h"

namespace clr {

enum class BoundsCoding : std::uint8_t {
  nibbles,       // .NET 7 to 9: one integer each for native delta, IL offset and source
  packed_2_bits, // .NET 10: bit fields whose widths the block states; 2 bits of source
  packed_3_bits, // .NET 11
};

// Entries of one body's map. Even the longest methods of generated code have fewer instructions.
constexpr std::uint32_t max_boundaries = 1 << 20;

// Decodes the entries of the block `chunk`, unchanged. Throws Error{corrupt} for a count that does not fit
// into the block or exceeds max_boundaries, for widths of more than 32 bits, and for offsets beyond 32 bits.
// No reads.
std::vector<IlBoundary> decode_bounds(const DebugInfoChunk& chunk, BoundsCoding coding);

} // namespace clr
