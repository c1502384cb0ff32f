#include "core/execution/hot_cold_map.h"

#include "core/execution/runtime_functions.h"

namespace clr {

std::uint32_t HotColdMap::hot_index(std::uint32_t index) const {
  if (pairs_ == 0 || index < hot_count()) return index;
  // Cold funclets come after the cold part of their method and have no pair of their own.
  const auto pair = binary_then_linear(0, pairs_ - 1, index, [&](std::uint32_t i) { return cold_at(i); });
  return pair ? hot_at(*pair) : index;
}

std::optional<HotColdMap::Range> HotColdMap::cold_range(std::uint32_t hot) const {
  if (pairs_ == 0) return std::nullopt;
  const auto pair = binary_then_linear(0, pairs_ - 1, hot, [&](std::uint32_t i) { return hot_at(i); });
  if (!pair || hot_at(*pair) != hot) return std::nullopt;
  const std::uint32_t first = cold_at(*pair);
  const std::uint32_t end = *pair + 1 < pairs_ ? cold_at(*pair + 1) : function_count_;
  if (first >= end || end > function_count_) throw_corrupt(address_ + 8 * Address{*pair}, "hot/cold map");
  return Range{.first = first, .last = end - 1};
}

} // namespace clr
