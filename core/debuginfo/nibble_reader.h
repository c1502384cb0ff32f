// Integers in groups of three bits, most significant first: the coding of CoreCLR's debug info.
// Source: dotnet/runtime docs/design/datacontracts/DebugInfo.md (whose rows for 64 and 65 break its own
// rule), src/coreclr/inc/nibblestream.h. The low half of a byte comes first on every target.
#pragma once

#include "core/memory/memory_reader.h"

#include <span>

namespace clr {

// Bytes of debug info that were fetched from the target.
struct DebugInfoChunk {
  Address address = 0; // of the first byte
  std::span<const std::byte> bytes;
  // Why there is nothing behind `bytes`: the memory ends (a fault of the memory), or the chunk does
  // (corrupt).
  bool memory_ends = false;

  // Throws the Error for a byte that is wanted at `offset`, which is not there.
  [[noreturn]] void throw_end(std::size_t offset) const;
};

class NibbleReader {
public:
  // The bytes must outlive the reader.
  explicit NibbleReader(const DebugInfoChunk& chunk) : chunk_(chunk) {}

  // Throw Error: corrupt (a value of more than 32 bits, the chunk's end), memory_missing (the memory's end).
  std::uint32_t u32();
  // Sign in bit 0, magnitude above it.
  std::int32_t i32();

  // Offset of the first byte of which nothing was read.
  std::size_t next_byte() const { return (nibble_ + 1) / 2; }
  // Nibbles that are left, at least one for an integer.
  std::size_t nibbles_left() const { return chunk_.bytes.size() * 2 - nibble_; }

  static constexpr unsigned max_nibbles = 11; // of one integer of 32 bits

private:
  unsigned nibble();

  DebugInfoChunk chunk_;
  std::size_t nibble_ = 0;
};

} // namespace clr
