// Builds a run of bytes from integers in the byte order of the target.
#pragma once

#include "core/memory/platform.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace clr {

class TargetBytes {
public:
  explicit TargetBytes(Platform platform) : platform_(platform) {}

  void u8(std::uint64_t value) { integer(value, 1); }
  void u16(std::uint64_t value) { integer(value, 2); }
  void u32(std::uint64_t value) { integer(value, 4); }
  void u64(std::uint64_t value) { integer(value, 8); }
  void word(std::uint64_t value) { integer(value, platform_.pointer_size); }
  // Appends `text`, cut or filled with zeroes to `size` bytes.
  void text(std::string_view text, std::size_t size) {
    const std::size_t begin = bytes_.size();
    for (const char c : text.substr(0, size)) u8(static_cast<unsigned char>(c));
    bytes_.resize(begin + size);
  }
  void append(std::span<const std::byte> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  // Appends another copy of the bytes at `at`.
  void append_copy(std::size_t at, std::size_t size) {
    bytes_.resize(bytes_.size() + size);
    std::copy_n(bytes_.data() + at, size, bytes_.data() + bytes_.size() - size);
  }
  // Overwrites the 4 bytes at `at`, which must exist: for a length that is known only after the data behind
  // it was written.
  void patch_u32(std::size_t at, std::uint64_t value) {
    for (unsigned i = 0; i < 4; ++i) bytes_[at + i] = byte_of(value, i, 4);
  }
  void reserve(std::size_t size) { bytes_.reserve(size); }
  // Appends zeroes up to a length, or up to a multiple of one.
  void pad_to(std::size_t size) {
    if (bytes_.size() < size) bytes_.resize(size);
  }
  void align(std::size_t unit) { pad_to((bytes_.size() + unit - 1) / unit * unit); }

  unsigned word_size() const { return platform_.pointer_size; }
  std::size_t size() const { return bytes_.size(); }
  const std::vector<std::byte>& bytes() const { return bytes_; }

private:
  void integer(std::uint64_t value, unsigned size) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + size);
    for (unsigned i = 0; i < size; ++i) bytes_[at + i] = byte_of(value, i, size);
  }
  // The i-th byte in memory of an integer of `size` bytes.
  std::byte byte_of(std::uint64_t value, unsigned i, unsigned size) const {
    const unsigned shift = platform_.byte_order == ByteOrder::little ? i : size - 1 - i;
    return static_cast<std::byte>(value >> (8 * shift));
  }

  Platform platform_;
  std::vector<std::byte> bytes_;
};

} // namespace clr
