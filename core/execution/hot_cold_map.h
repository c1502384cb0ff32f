// The hot/cold map of a ReadyToRun image: it tells which runtime functions are the cold parts of which
// methods.
// Source: dotnet/runtime docs/design/datacontracts/ExecutionManager.md (HotColdLookup);
// docs/design/coreclr/botr/readytorun-format.md.
#pragma once

#include "core/target/target.h"

#include <optional>

namespace clr {

class HotColdMap {
public:
  // `count` u32 values at `address`: pairs {cold index, hot index}, both columns ascending. `function_count`
  // is that of the image. No reads.
  HotColdMap(const Target& target, Address address, std::uint32_t count, std::uint32_t function_count)
      : target_(&target), address_(address), pairs_(count / 2), function_count_(function_count) {}

  // Index of the hot function to which `index` belongs: `index` itself unless it is cold. Cost: about
  // log2(pairs) reads.
  std::uint32_t hot_index(std::uint32_t index) const;

  // The cold functions [first, last] of the method whose first (hot) function is `hot`; nothing when it has
  // none.
  struct Range {
    std::uint32_t first = 0, last = 0;
  };
  std::optional<Range> cold_range(std::uint32_t hot) const;

  // Number of hot functions; the cold ones come after them. 1 read when there are cold ones.
  std::uint32_t hot_count() const { return pairs_ == 0 ? function_count_ : cold_at(0); }

private:
  std::uint32_t cold_at(std::uint32_t pair) const { return target_->read_u32(address_ + 8 * Address{pair}); }
  std::uint32_t hot_at(std::uint32_t pair) const {
    return target_->read_u32(address_ + 8 * Address{pair} + 4);
  }
  const Target* target_;
  Address address_;
  std::uint32_t pairs_;
  std::uint32_t function_count_;
};

} // namespace clr
