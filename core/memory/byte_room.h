// How many bytes of one kind are kept, and how many are read or expanded in vain. Who made the target chooses
// how many files and compressed parts it names and how large they are: half a megabyte of a core can stand
// for half a gigabyte.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

namespace clr {

class ByteRoom {
public:
  // All together no more than `most` bytes are kept, and no more than max_wasted times as many are made in
  // vain, because they are damaged or of another build: each byte takes time, kept or not. What is kept
  // counts in `whole`, too, for as long as this room is: several kinds that each keep to their limit may be
  // too much together.
  explicit ByteRoom(std::uint64_t most, std::shared_ptr<ByteRoom> whole = nullptr)
      : most_(most), whole_(std::move(whole)) {}
  ~ByteRoom() { begin(most_); }
  ByteRoom(const ByteRoom&) = delete;
  ByteRoom& operator=(const ByteRoom&) = delete;

  // Nothing is kept any more; from now on no more than `most` bytes are.
  void begin(std::uint64_t most) {
    if (whole_) whole_->kept_ -= kept_;
    most_ = most;
    kept_ = wasted_ = 0;
  }
  // What is kept from now on counts in `whole`, too. Nothing is kept yet.
  void share(std::shared_ptr<ByteRoom> whole) { whole_ = std::move(whole); }

  static constexpr std::uint64_t max_wasted = 4;

  // Whether `size` bytes may be made. Asked before that is done, so that neither number exceeds its limit.
  bool has(std::uint64_t size) const { return size <= left(); }
  // The largest size that it has.
  std::uint64_t left() const {
    const std::uint64_t own = std::min(most_ - kept_, most_ * max_wasted - wasted_);
    return whole_ ? std::min(own, whole_->most_ - whole_->kept_) : own;
  }
  std::uint64_t most() const { return most_; }

  void keep(std::uint64_t size) {
    kept_ += size;
    if (whole_) whole_->kept_ += size;
  }
  void waste(std::uint64_t size) { wasted_ += size; }

private:
  std::uint64_t most_, kept_ = 0, wasted_ = 0; // bytes
  std::shared_ptr<ByteRoom> whole_;
};

} // namespace clr
