#include "core/heap/heap_bytes.h"

#include <algorithm>

namespace clr {

std::span<const std::byte> HeapBytes::fetch(Address at, std::size_t least, Address end) {
  const bool follows = at - begin_ <= size_;
  last_ = follows ? std::min(piece, 4 * last_) : small_piece;
  const std::size_t wanted = std::min<std::uint64_t>(std::max(last_, least), end - at);
  if (bytes_.size() < wanted) bytes_.resize(wanted);
  const std::span<std::byte> out = std::span(bytes_).first(wanted);
  MemoryReader& memory = types_->target().memory();
  auto got = memory.scan_together(at, out);
  if (!got || *got < std::min(least, wanted)) {
    const std::lock_guard lock(types_->reading());
    got = memory.scan_some(at, out);
  }
  begin_ = at;
  size_ = *got;
  return std::span(bytes_).first(size_);
}

} // namespace clr
