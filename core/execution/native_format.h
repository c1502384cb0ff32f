// The NativeFormat of ReadyToRun images: variable-length integers and the sparse NativeFormatArray.
// Source: dotnet/runtime src/coreclr/vm/nativeformatreader.h; docs/design/coreclr/botr/readytorun-format.md.
#pragma once

#include "core/memory/memory_reader.h"

#include <optional>

namespace clr {

// Reads of little-endian image data at addresses `base` + offset.
class NativeReader {
public:
  NativeReader(MemoryReader& memory, Address base) : memory_(&memory), base_(base) {}

  struct Unsigned {
    std::uint32_t value = 0;
    std::uint32_t next = 0; // offset behind it
  };
  // One read. Throws Error{corrupt} for a first byte that begins no integer, Error{memory_missing}.
  Unsigned read_unsigned(std::uint32_t offset) const;
  std::uint8_t read_u8(std::uint32_t offset) const;
  std::uint16_t read_u16(std::uint32_t offset) const;
  std::uint32_t read_u32(std::uint32_t offset) const;

  MemoryReader& memory() const { return *memory_; }
  Address base() const { return base_; }

private:
  template<typename T>
  T read(std::uint32_t offset) const;
  MemoryReader* memory_;
  Address base_;
};

class NativeFormatArray {
public:
  // The array at `offset`. 1 read.
  NativeFormatArray(const NativeReader& reader, std::uint32_t offset);

  std::uint32_t count() const { return count_; }
  // Offset of element `index`; nothing when the array has none there. 2 to 6 reads.
  std::optional<std::uint32_t> find(std::uint32_t index) const;

private:
  NativeReader reader_;
  std::uint32_t base_ = 0;
  std::uint32_t count_ = 0;
  unsigned index_width_ = 0;
};

} // namespace clr
