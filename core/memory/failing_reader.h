// Memory that is missing at a chosen read, like that of a torn core or a dying process. For tests of faults.
#pragma once

#include "core/memory/memory_reader.h"

#include <cstdint>

namespace clr {

class FailingReader final : public MemoryReader {
public:
  // Read number `fail_at` (the first is 1; 0: none) delivers nothing; with `stays_failed`, all later reads
  // fail too. `next` must outlive this.
  explicit FailingReader(MemoryReader& next, std::uint64_t fail_at = 0, bool stays_failed = false)
      : next_(&next), fail_at_(fail_at), stays_failed_(stays_failed) {}

  std::size_t read_some(Address address, std::span<std::byte> out) override {
    ++reads_;
    const bool fails = fail_at_ != 0 && (stays_failed_ ? reads_ >= fail_at_ : reads_ == fail_at_);
    return fails ? 0 : next_->read_some(address, out);
  }
  // Lends nothing, so that every access is a read that can fail.
  std::span<const std::byte> view(Address, std::size_t) override { return {}; }

  // Starts to count from zero, with a new number of the read that fails.
  void fail_at(std::uint64_t number) {
    fail_at_ = number;
    reads_ = 0;
  }
  std::uint64_t reads() const { return reads_; }

private:
  MemoryReader* next_;
  std::uint64_t fail_at_;
  bool stays_failed_;
  std::uint64_t reads_ = 0;
};

} // namespace clr
