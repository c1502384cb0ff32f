// Reads integers in groups of three bits, most significant first: the coding of CoreCLR's debug info. Source:
// dotnet/runtime docs/design/datacontracts/DebugInfo.md (its rows for 64 and 65 break its own rule),
// src/coreclr/inc/nibblestream.h. The low half of a byte comes first on every target.
#pragma once

#include "core/memory/memory_reader.h"

#include <span>

namespace clr {

// Bytes of debug info that were read from the target.
struct DebugInfoChunk {
  Address address = 0; // of the first byte
  std::span<const std::byte> bytes;
  // The reason why there is nothing behind `bytes`. true: the memory ends (memory_missing); false: the chunk
  // ends (corrupt).
  bool memory_ends = false;

  // Throws the Error for reading the byte at `offset`, which is not there.
  [[noreturn]] void throw_end(std::size_t offset) const;
};

class NibbleReader {
public:
  // The bytes must outlive the reader.
  explicit NibbleReader(const DebugInfoChunk& chunk) : chunk_(chunk) {}

  // These throw Error: corrupt (a value of more than 32 bits, the end of the chunk), memory_missing (the end
  // of the memory).
  std::uint32_t u32();
  // The sign is bit 0, the magnitude is above it.
  std::int32_t i32();

  // Offset of the first byte that was not read at all.
  std::size_t next_byte() const { return (nibble_ + 1) / 2; }
  // Number of nibbles that are left. Each integer needs at least one.
  std::size_t nibbles_left() const { return chunk_.bytes.size() * 2 - nibble_; }

  static constexpr unsigned max_nibbles = 11; // of one integer of 32 bits

private:
  unsigned nibble();

  DebugInfoChunk chunk_;
  std::size_t nibble_ = 0;
};

} // namespace clr
