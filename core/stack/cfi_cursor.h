// Reads the bytes of call frame information one after the other.
#pragma once

#include "core/memory/memory_reader.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace clr {

// Each read throws Error{corrupt} when the bytes end before it.
class CfiCursor {
public:
  explicit CfiCursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

  bool done() const { return at_ == bytes_.size(); }
  std::size_t passed() const { return at_; }
  std::span<const std::byte> rest() const { return bytes_.subspan(at_); }

  void skip(std::uint64_t size) { take(size); }
  std::span<const std::byte> take(std::uint64_t size) {
    if (size > bytes_.size() - at_)
      throw Error(ErrorKind::corrupt, "call frame information that ends too early");
    const auto taken = bytes_.subspan(at_, static_cast<std::size_t>(size));
    at_ += taken.size();
    return taken;
  }
  unsigned byte() { return std::to_integer<unsigned>(take(1)[0]); }
  template<typename Number>
  Number number() {
    return load<Number>(take(sizeof(Number)), ByteOrder::little);
  }

  // A LEB128 as it stands in .eh_frame: at most 10 bytes, of which readers agree what they mean.
  std::uint64_t uleb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      const std::uint64_t part = byte();
      value |= (part & 0x7F) << std::min(shift, 63u);
      if ((part & 0x80) == 0) return value;
    }
    throw Error(ErrorKind::corrupt, "call frame information with a number of more than 10 bytes");
  }

private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

} // namespace clr
