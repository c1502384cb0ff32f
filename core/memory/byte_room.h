// How many bytes of one kind are kept, and how many are read or expanded in vain. Who made the target chooses
// how many files and compressed parts it names and how large they are: half a megabyte of a core can stand
// for half a gigabyte.
#pragma once

#include <algorithm>
#include <cstdint>

namespace clr {

class ByteRoom {
public:
  // All together no more than `most` bytes are kept, and no more than max_wasted times as many are made in
  // vain, because they are damaged or of another build: each byte takes time, kept or not.
  explicit ByteRoom(std::uint64_t most) : most_(most) {}

  static constexpr std::uint64_t max_wasted = 4;

  // Whether `size` bytes may be made. Asked before that is done, so that neither number exceeds its limit.
  bool has(std::uint64_t size) const { return size <= left(); }
  // The largest size that it has.
  std::uint64_t left() const { return std::min(most_ - kept_, most_ * max_wasted - wasted_); }
  std::uint64_t most() const { return most_; }

  void keep(std::uint64_t size) { kept_ += size; }
  void waste(std::uint64_t size) { wasted_ += size; }

private:
  std::uint64_t most_, kept_ = 0, wasted_ = 0; // bytes
};

} // namespace clr
