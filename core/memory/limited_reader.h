// Memory of which only so much is read: for a search through many modules, each of which may have tables as
// large as those of any.
#pragma once

#include "core/memory/memory_reader.h"

#include <algorithm>
#include <cstdint>

namespace clr {

class LimitedReader final : public MemoryReader {
public:
  // What a read counts at least, in bytes: that much time it takes.
  static constexpr std::uint64_t read_cost = 64;

  // All reads together ask for no more than `most` bytes; the first one that would, and all behind it, find
  // nothing. `next` must outlive this.
  LimitedReader(MemoryReader& next, std::uint64_t most) : next_(&next), left_(most) {}

  std::size_t read_some(Address address, std::span<std::byte> out) override {
    const std::uint64_t cost = std::max<std::uint64_t>(out.size(), read_cost);
    if (cost > left_) {
      left_ = 0;
      return 0;
    }
    left_ -= cost;
    return next_->read_some(address, out);
  }

  // Whether reads find nothing any more.
  bool is_used_up() const { return left_ == 0; }

private:
  MemoryReader* next_;
  std::uint64_t left_;
};

} // namespace clr
