#include "core/memory/file_blocks.h"

#include "core/memory/read_at.h"

#include <algorithm>
#include <cstring>

namespace clr {
namespace {

constexpr std::uint64_t most_blocks = FileBlocks::max_kept / FileBlocks::block_size;
// Blocks whose pages are made together. So many are not wasted before as many were asked for.
constexpr std::uint64_t made_together = 64;

constexpr std::uint64_t blocks_of(std::uint64_t bytes) {
  return (bytes + FileBlocks::block_size - 1) / FileBlocks::block_size;
}

} // namespace

FileBlocks::FileBlocks(int file, std::uint64_t size, std::uint64_t begin)
    : file_(file), size_(size), shift_((block_size - begin % block_size) % block_size) {
  if (size == 0 || size > max_size) return;
  places_ = OwnPages(blocks() * sizeof(std::uint32_t));
  if (places_.data() == nullptr) return;
  bytes_ = OwnPages(max_kept);
  bytes_.prefer_large(0, max_kept);
}

std::uint64_t FileBlocks::blocks() const {
  return blocks_of(shift_ + size_);
}

std::span<const std::byte> FileBlocks::lend(std::uint64_t offset, std::size_t size) {
  if (bytes_.data() == nullptr || size == 0 || size > max_lent || offset > size_ || size > size_ - offset)
    return {};
  const std::uint64_t at = shift_ + offset;
  const std::uint64_t first = at / block_size, end = blocks_of(at + size);
  if (!in_one_piece(first, end) && !keep_with_neighbours(first, end) && !keep(first, end)) return {};
  return {block_at(places()[first]) + at % block_size, size};
}

// Whether the blocks [first, end) are kept, one behind the other.
bool FileBlocks::in_one_piece(std::uint64_t first, std::uint64_t end) const {
  const std::uint32_t begin = places()[first];
  if (begin == 0) return false;
  for (std::uint64_t block = first + 1; block < end; ++block)
    if (places()[block] != begin + (block - first)) return false;
  return true;
}

// Puts the blocks [first, end) behind all others together with those beside them that are not known, as far
// as these are read together. False: there are none, or they cannot be had.
bool FileBlocks::keep_with_neighbours(std::uint64_t first, std::uint64_t end) {
  if (kept_ < read_alone) return false;
  std::uint64_t from = first, until = end;
  while (from % read_together != 0 && places()[from - 1] == 0) --from;
  while (until % read_together != 0 && until < blocks() && places()[until] == 0) ++until;
  return (from != first || until != end) && keep(from, until);
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
    if (places()[block] != 0) {
      std::memcpy(to, block_at(places()[block]), block_size);
      ++block;
      continue;
    }
    std::uint64_t next = block + 1;
    while (next < end && places()[next] == 0) ++next;
    const std::uint64_t from = std::max(block * block_size, shift_);
    const std::uint64_t until = std::min(next * block_size, shift_ + size_);
    const std::span<std::byte> wanted(to + (from - block * block_size),
                                      static_cast<std::size_t>(until - from));
    if (read_at(file_, wanted, from - shift_) != wanted.size()) return false; // the file was cut meanwhile
    block = next;
  }
  for (std::uint64_t i = 0; i < count; ++i) places()[first + i] = static_cast<std::uint32_t>(place + i);
  kept_ += count;
  return true;
}

// Has pages made for the first `blocks` places. When the system cannot, it makes each page when it is
// written.
void FileBlocks::make_pages(std::uint64_t blocks) {
  if (blocks <= made_together) return;
  for (made_ = std::max(made_, kept_); made_ < blocks && made_ < most_blocks; made_ += made_together)
    bytes_.make(made_ * block_size, std::min(made_together, most_blocks - made_) * block_size);
}

} // namespace clr
