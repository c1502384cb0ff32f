// Lends what another reader has, as a mapped core does: every view stands in a buffer of its own.
#pragma once

#include "core/memory/memory_reader.h"

#include <deque>
#include <vector>

namespace clr::test {

class LendingReader final : public MemoryReader {
public:
  // `next` must outlive this.
  explicit LendingReader(MemoryReader& next) : next_(&next) {}

  std::size_t read_some(Address address, std::span<std::byte> out) override {
    ++reads_;
    return next_->read_some(address, out);
  }
  std::span<const std::byte> view(Address address, std::size_t size) override {
    std::vector<std::byte> bytes(size);
    if (next_->read_some(address, bytes) != size) return {};
    return lent_.emplace_back(std::move(bytes));
  }
  // Reads beside the views.
  std::size_t reads() const { return reads_; }

private:
  MemoryReader* next_;
  std::deque<std::vector<std::byte>> lent_;
  std::size_t reads_ = 0;
};

} // namespace clr::test
