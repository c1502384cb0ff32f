// Runs of repeated frames: what recursion leaves on a stack, folded for people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace clr {

// `period` consecutive elements from `first`, that stand there `count` times in a row. What does not repeat
// is a run of count 1.
struct RepeatRun {
  std::size_t first = 0;
  std::size_t period = 0;
  std::size_t count = 0;
  friend bool operator==(const RepeatRun&, const RepeatRun&) = default;
};

// Longest cycle of mutual recursion that is recognised, in frames.
constexpr std::size_t max_repeat_period = 32;
// Fewer repetitions than this are left as they are: folding them would hide more than it saves.
constexpr std::size_t min_repeat_count = 4;

// Folds `keys` (equal keys: equal frames). The runs cover all keys in order. Time: keys.size() *
// max_repeat_period.
std::vector<RepeatRun> find_repeats(std::span<const std::uint64_t> keys);

} // namespace clr
