// Reads GC info bit by bit. A blob states neither its size nor a checksum, so every step is bounded here.
// Source: dotnet/runtime src/coreclr/inc/gcinfodecoder.h (BitStreamReader).
#pragma once

#include "core/memory/memory_reader.h"

#include <array>
#include <vector>

namespace clr {

class GcBits {
public:
  // The blob at `at`. `memory` must outlive this. No reads: bytes are read as they are needed, first_bytes at
  // first and then ever larger pieces.
  GcBits(MemoryReader& memory, Address at) : memory_(&memory), at_(at) {}

  // All that follow throw Error{memory_missing} where the memory ends, and Error{corrupt} beyond the limits.

  // The next `count` bits, at most 32; the first one is the lowest.
  std::uint32_t take(unsigned count);
  bool flag() { return take(1) != 0; }
  // A number in groups of `width` bits, lowest group first; one more bit behind each group says that another
  // follows. At most 64 bits; the signed one extends the last group's highest bit.
  std::uint64_t unsigned_number(unsigned width);
  std::int64_t signed_number(unsigned width);

  // Bits from the beginning of the blob.
  std::uint64_t position() const { return position_; }
  void seek(std::uint64_t position) { position_ = position; }
  void align_to_byte() { position_ = (position_ + 7) / 8 * 8; }
  // The number of bytes that were used: up to the furthest bit that was taken.
  std::uint64_t used_bytes() const { return (furthest_ + 7) / 8; }

  // Counts work that takes no bits of its own. Beyond max_gc_steps since the last begin_work() it throws
  // Error{corrupt}; each taken number of bits is a step, too.
  void spend(std::uint64_t steps);
  void begin_work() { steps_ = 0; }
  // Since the last begin_work().
  std::uint64_t steps() const { return steps_; }
  // Bytes of memory that it takes beside itself.
  std::size_t kept_bytes() const { return many_.capacity(); }

  Address address() const { return at_; }
  // Throws Error{corrupt} "GC info with WHAT at 0x...".
  [[noreturn]] void corrupt(std::string_view what) const;

  // The largest blob that is believed, in bytes: a method of 1 MiB of code has some 100 KiB.
  static constexpr std::size_t max_gc_info_bytes = 4 * 1024 * 1024;
  // The steps of one question: the lists of a blob may refer to one another, so that a few bytes make work
  // without end. The largest method of the framework takes some 20,000.
  static constexpr std::uint64_t max_gc_steps = 16 * 1024 * 1024;

private:
  struct Number {
    std::uint64_t value = 0;
    unsigned bits = 0;
  };
  Number number(unsigned width);
  void need(std::uint64_t bits);

  static constexpr std::size_t first_bytes = 32;
  static constexpr std::size_t padding = 8; // behind the bytes, so that a word can be loaded at any of them

  MemoryReader* memory_;
  Address at_;
  std::uint64_t position_ = 0, furthest_ = 0, steps_ = 0;
  std::size_t size_ = 0; // bytes that were read
  std::array<std::byte, first_bytes + padding> few_{};
  std::vector<std::byte> many_; // in place of few_ when that is too small
};

} // namespace clr
