#include "core/memory/file_blocks.h"

#include "core/memory/read_at.h"

#include <algorithm>
#include <sys/mman.h>

namespace clr {

FileBlocks::FileBlocks(int file, std::uint64_t size) : file_(file), size_(size) {
  if (size == 0 || size > max_size) return;
  void* const reserved = ::mmap(nullptr, static_cast<std::size_t>(size), PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return;
  bytes_ = static_cast<std::byte*>(reserved);
  filled_.resize(static_cast<std::size_t>((size + block_size - 1) / block_size));
}

FileBlocks::~FileBlocks() {
  if (bytes_ != nullptr) ::munmap(bytes_, static_cast<std::size_t>(size_));
}

std::span<const std::byte> FileBlocks::lend(std::uint64_t offset, std::size_t size) {
  if (bytes_ == nullptr || size == 0 || size > max_lent || offset > size_ || size > size_ - offset) return {};
  const std::uint64_t last = (offset + size - 1) / block_size;
  for (std::uint64_t block = offset / block_size; block <= last; ++block) {
    if (filled_[block]) continue;
    std::uint64_t end = block + 1;
    while (end <= last && !filled_[end]) ++end;
    if (!fill(block, end)) return {};
    block = end - 1;
  }
  return {bytes_ + offset, size};
}

// Reads the blocks [first, end).
bool FileBlocks::fill(std::uint64_t first, std::uint64_t end) {
  const std::uint64_t from = first * block_size, to = std::min(end * block_size, size_);
  if (kept_ + (to - from) > max_kept) return false;
  const std::span<std::byte> wanted(bytes_ + from, static_cast<std::size_t>(to - from));
  if (read_at(file_, wanted, from) != wanted.size()) return false; // the file was cut meanwhile
  kept_ += wanted.size();
  std::fill(filled_.begin() + static_cast<std::ptrdiff_t>(first),
            filled_.begin() + static_cast<std::ptrdiff_t>(end), true);
  return true;
}

} // namespace clr
