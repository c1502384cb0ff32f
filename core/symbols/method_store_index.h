// Finds the span for an address and a time, among spans of addresses that overlap only at different times. It
// is a segment tree over the addresses: a span lies in at most two nodes of each level, and the spans of one
// node follow each other in time, because each of them covers all addresses of the node. So the size is n log
// n, and a search takes log n steps up the tree even when thousands of spans share an address. Private to
// core/symbols.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace clr {

// Addresses [start, end), not empty, and times [begin, stop). A `stop` of no_end means that there is no end.
struct TimedSpan {
  std::uint64_t start = 0, end = 0;
  std::uint64_t begin = 0, stop = 0;
  static constexpr std::uint64_t no_end = UINT64_MAX;
};

class MethodStoreIndex {
public:
  static constexpr std::uint32_t none = UINT32_MAX;

  MethodStoreIndex() = default;
  // No two of the spans may overlap in both address and time; fewer than 2^31 of them. Keeps a copy of their
  // times.
  explicit MethodStoreIndex(std::span<const TimedSpan> spans);

  // Number of the span that holds the address at that time, or none.
  std::uint32_t find(std::uint64_t address, std::uint64_t time) const;
  // Number of the span that holds the address last, or none.
  std::uint32_t find_last(std::uint64_t address) const;

private:
  struct Times {
    std::uint64_t begin, stop;
  };
  template<typename Use>
  void each_node(const TimedSpan& span, Use use) const;
  std::size_t leaf_of(std::uint64_t address) const;
  std::span<const std::uint32_t> in_node(std::size_t node) const {
    return std::span(entries_).subspan(first_[node], first_[node + 1] - first_[node]);
  }

  std::vector<std::uint64_t> bounds_;  // starts and ends of spans: leaf i is [bounds_[i], bounds_[i + 1])
  std::vector<std::uint32_t> first_;   // where the spans of each node begin in entries_
  std::vector<std::uint32_t> entries_; // numbers of spans; those of one node sorted by time
  std::vector<Times> times_;           // of each span
};

} // namespace clr
