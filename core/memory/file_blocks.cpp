#include "core/memory/file_blocks.h"

#include "core/memory/read_at.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>

namespace clr {
namespace {

constexpr std::uint64_t most_blocks = FileBlocks::max_kept / FileBlocks::block_size;
// Blocks whose pages are made together. So many are not wasted before as many were asked for.
constexpr std::uint64_t made_together = 16;

constexpr std::uint64_t blocks_of(std::uint64_t bytes) {
  return (bytes + FileBlocks::block_size - 1) / FileBlocks::block_size;
}

// Where the system has pages of this size it makes one for the cost of a few small ones.
constexpr std::uint64_t large_page = 2 << 20;

// Zeroes, which take memory only where they are written; null when the system has no addresses.
void* reserve(std::uint64_t bytes) {
  void* const at = ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? nullptr : at;
}

void release(void* at, std::uint64_t bytes) {
  if (bytes != 0) ::munmap(at, static_cast<std::size_t>(bytes));
}

// The same as reserve(), in large pages as far as the system has them.
std::byte* reserve_large(std::uint64_t bytes) {
  auto* const room = static_cast<std::byte*>(reserve(bytes + large_page));
  if (room == nullptr) return nullptr;
  const std::uint64_t front = (large_page - reinterpret_cast<std::uintptr_t>(room) % large_page) % large_page;
  release(room, front);
  release(room + front + bytes, large_page - front);
  ::madvise(room + front, static_cast<std::size_t>(bytes), MADV_HUGEPAGE);
  return room + front;
}

} // namespace

FileBlocks::FileBlocks(int file, std::uint64_t size, std::uint64_t begin)
    : file_(file), size_(size), shift_((block_size - begin % block_size) % block_size) {
  if (size == 0 || size > max_size) return;
  places_ = static_cast<std::uint32_t*>(reserve(blocks() * sizeof(std::uint32_t)));
  if (places_ != nullptr) bytes_ = reserve_large(max_kept);
}

FileBlocks::~FileBlocks() {
  if (places_ != nullptr) release(places_, blocks() * sizeof(std::uint32_t));
  if (bytes_ != nullptr) release(bytes_, max_kept);
}

std::uint64_t FileBlocks::blocks() const {
  return blocks_of(shift_ + size_);
}

std::span<const std::byte> FileBlocks::lend(std::uint64_t offset, std::size_t size) {
  if (bytes_ == nullptr || size == 0 || size > max_lent || offset > size_ || size > size_ - offset) return {};
  const std::uint64_t at = shift_ + offset;
  const std::uint64_t first = at / block_size, end = blocks_of(at + size);
  if (!in_one_piece(first, end) && !keep(first, end)) return {};
  return {block_at(places_[first]) + at % block_size, size};
}

// Whether the blocks [first, end) are kept, one behind the other.
bool FileBlocks::in_one_piece(std::uint64_t first, std::uint64_t end) const {
  const std::uint32_t begin = places_[first];
  if (begin == 0) return false;
  for (std::uint64_t block = first + 1; block < end; ++block)
    if (places_[block] != begin + (block - first)) return false;
  return true;
}

// Puts the blocks [first, end) behind all others. Those that are known are not read again, because the file
// may have been changed or cut.
bool FileBlocks::keep(std::uint64_t first, std::uint64_t end) {
  const std::uint64_t count = end - first;
  if (kept_ + count > most_blocks) return false;
  make_pages(kept_ + count);
  const std::uint64_t place = kept_ + 1;
  for (std::uint64_t block = first; block < end;) {
    std::byte* const to = block_at(place + (block - first));
    if (places_[block] != 0) {
      std::memcpy(to, block_at(places_[block]), block_size);
      ++block;
      continue;
    }
    std::uint64_t next = block + 1;
    while (next < end && places_[next] == 0) ++next;
    const std::uint64_t from = std::max(block * block_size, shift_);
    const std::uint64_t until = std::min(next * block_size, shift_ + size_);
    const std::span<std::byte> wanted(to + (from - block * block_size),
                                      static_cast<std::size_t>(until - from));
    if (read_at(file_, wanted, from - shift_) != wanted.size()) return false; // the file was cut meanwhile
    block = next;
  }
  for (std::uint64_t i = 0; i < count; ++i) places_[first + i] = static_cast<std::uint32_t>(place + i);
  kept_ += count;
  return true;
}

// Has pages made for the first `blocks` places. When the system cannot, it makes each page when it is
// written.
void FileBlocks::make_pages(std::uint64_t blocks) {
  if (blocks <= made_together) return;
  for (made_ = std::max(made_, kept_); made_ < blocks && made_ < most_blocks; made_ += made_together) {
#ifdef MADV_POPULATE_WRITE
    const std::uint64_t count = std::min(made_together, most_blocks - made_);
    ::madvise(bytes_ + made_ * block_size, static_cast<std::size_t>(count * block_size), MADV_POPULATE_WRITE);
#endif
  }
}

} // namespace clr
