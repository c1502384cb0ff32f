// The parts of a large file that were asked for, in memory of our own. They lie close together, in the order
// in which they were asked for: a large page costs the system less than a tenth of as many small ones, and
// many small ones at once cost half. A mapped file would not survive that somebody cuts it (loaded_file.h).
#pragma once

#include "core/memory/own_pages.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace clr {

class FileBlocks {
public:
  // `file` must stay open as long as this lives; it has `size` bytes. Blocks begin at `begin` and at every
  // distance of block_size from it, so that with the place of a page of the target no page lies in two
  // blocks. Reserves addresses, and no memory. A file beyond max_size, or for which the system has no
  // addresses, is not lent.
  FileBlocks(int file, std::uint64_t size, std::uint64_t begin = 0);

  // The bytes [offset, offset + size), valid as long as this. Empty when they are not all there, when there
  // are more than max_lent, and when max_kept bytes are kept already. Blocks that were lent apart are copied
  // when they are asked for in one piece. Cost: 1 system call for each run of blocks that were not asked for
  // before.
  std::span<const std::byte> lend(std::uint64_t offset, std::size_t size);

  static constexpr std::size_t block_size = 4 * 1024;
  // Who reads much needs most of the blocks beside each other: of 10,000 methods in random order 3.3 of 4. So
  // these are read together, but for the first ones: what a stack needs is a tenth of a megabyte, on
  // hundreds of pages, and each large page that is made for them costs as much as a thousand reads.
  static constexpr std::uint64_t read_together = 4, read_alone = 1'024;
  static constexpr std::size_t max_lent = 256 * 1024;
  static constexpr std::uint64_t max_kept = 128 << 20;
  // 256 GB: the table of places takes 256 MB of addresses then.
  static constexpr std::uint64_t max_size = std::uint64_t{256} << 30;

private:
  std::uint64_t blocks() const;
  bool in_one_piece(std::uint64_t first, std::uint64_t end) const;
  bool keep_with_neighbours(std::uint64_t first, std::uint64_t end);
  bool keep(std::uint64_t first, std::uint64_t end);
  void make_pages(std::uint64_t blocks);
  std::byte* block_at(std::uint64_t place) const { return bytes_.data() + (place - 1) * block_size; }
  std::uint32_t* places() const { return reinterpret_cast<std::uint32_t*>(places_.data()); }

  int file_;
  std::uint64_t size_;
  std::uint64_t shift_;               // the bytes of the first block that lie in front of the file
  OwnPages bytes_;                    // the blocks that are kept; none: nothing is lent
  OwnPages places_;                   // by block of the file its place in bytes_, from 1; 0: not read yet
  std::uint64_t kept_ = 0, made_ = 0; // blocks of bytes_ that are in use, and that have pages
};

} // namespace clr
