// Counts the reads that go through it, for tests of the costs that headers state.
#pragma once

#include "core/memory/memory_reader.h"

#include <cstdint>

namespace clr {

class CountingReader final : public MemoryReader {
public:
  // `next` must outlive this.
  explicit CountingReader(MemoryReader& next) : next_(&next) {}

  // Counts as one read, whatever its size and result.
  std::size_t read_some(Address address, std::span<std::byte> out) override {
    const std::size_t got = next_->read_some(address, out);
    ++reads_;
    bytes_ += got;
    return got;
  }
  // Lends nothing, so that every access is a read and is counted.
  std::span<const std::byte> view(Address, std::size_t) override { return {}; }

  std::uint64_t reads() const { return reads_; }
  std::uint64_t bytes() const { return bytes_; } // delivered
  void reset() { reads_ = bytes_ = 0; }

private:
  MemoryReader* next_;
  std::uint64_t reads_ = 0;
  std::uint64_t bytes_ = 0;
};

} // namespace clr
