#include "core/stack/repeats.h"

#include <algorithm>

namespace clr {
namespace {

// How many times the `period` keys from `first` stand in a row.
std::size_t count_repeats(std::span<const std::uint64_t> keys, std::size_t first, std::size_t period) {
  std::size_t equal = 0;
  while (first + equal + period < keys.size() && keys[first + equal] == keys[first + equal + period]) ++equal;
  return equal / period + 1;
}

} // namespace

std::vector<RepeatRun> find_repeats(std::span<const std::uint64_t> keys) {
  std::vector<RepeatRun> runs;
  const auto add_single = [&](std::size_t at) {
    if (!runs.empty() && runs.back().count == 1)
      ++runs.back().period;
    else
      runs.push_back({.first = at, .period = 1, .count = 1});
  };
  for (std::size_t at = 0; at < keys.size();) {
    // The shortest cycle that covers the most frames; longer ones are its multiples.
    RepeatRun best;
    for (std::size_t period = 1; period <= max_repeat_period && at + period < keys.size(); ++period) {
      if (keys[at] != keys[at + period]) continue;
      const std::size_t count = count_repeats(keys, at, period);
      if (count >= min_repeat_count && count * period > best.count * best.period)
        best = {.first = at, .period = period, .count = count};
    }
    if (best.count == 0) {
      add_single(at++);
      continue;
    }
    runs.push_back(best);
    at += best.period * best.count;
  }
  return runs;
}

} // namespace clr
