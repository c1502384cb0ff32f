// A hash for tables whose keys somebody else chooses: a file, or the memory of a target. std::hash gives a
// number as its own hash and computes that of a text as everybody can: whoever chooses the keys may choose
// those that all fall into one bucket, and then each search looks at all of them. This one depends on numbers
// that are drawn once in each process.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string_view>

namespace clr {

// The same key has the same hash only within one process: nothing that is shown may depend on the order of
// such a table. Its clear() goes through all buckets, of which there are as many as its content ever needed;
// a new table has none.
struct SeededHash {
  std::size_t operator()(std::uint64_t key) const {
    const Seeds& seeds = drawn();
    return static_cast<std::size_t>(mixed(seeds.start ^ key, seeds));
  }
  // Cost: a step for each eight bytes.
  std::size_t operator()(std::string_view text) const {
    const Seeds& seeds = drawn();
    std::uint64_t value = seeds.start ^ text.size();
    while (!text.empty()) {
      std::uint64_t word = 0;
      const std::size_t size = std::min(text.size(), sizeof word);
      std::memcpy(&word, text.data(), size);
      text.remove_prefix(size);
      value = mixed(value ^ word, seeds);
    }
    return static_cast<std::size_t>(mixed(value, seeds));
  }

private:
  struct Seeds {
    std::uint64_t start, factors[2]; // odd factors: no two values become one
  };

  static const Seeds& drawn() {
    static const Seeds seeds = [] {
      std::random_device device;
      const auto draw = [&] { return std::uint64_t{device()} << 32 | device(); };
      return Seeds{draw(), {draw() | 1, draw() | 1}};
    }();
    return seeds;
  }
  // Each bit of the value changes about half of the bits of the result: a table takes the rest of a division,
  // or the lowest bits.
  static std::uint64_t mixed(std::uint64_t value, const Seeds& seeds) {
    value ^= value >> 32;
    value *= seeds.factors[0];
    value ^= value >> 29;
    value *= seeds.factors[1];
    return value ^ value >> 32;
  }
};

} // namespace clr
