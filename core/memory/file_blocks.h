// The parts of a large file that were asked for, in memory of our own. They lie at the same distances from
// each other as in the file, so that any run of them can be lent in one piece. A mapped file could do the
// same, but not survive that somebody cuts the file (loaded_file.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace clr {

class FileBlocks {
public:
  // `file` must stay open as long as this lives; it has `size` bytes. Reserves as many addresses, and no
  // memory. A file beyond max_size, or for which the system has no addresses, is not lent.
  FileBlocks(int file, std::uint64_t size);
  ~FileBlocks();
  FileBlocks(const FileBlocks&) = delete;
  FileBlocks& operator=(const FileBlocks&) = delete;

  // The bytes [offset, offset + size), valid as long as this. Empty when they are not all there, when there
  // are more than max_lent, and when max_kept bytes are kept already. Cost: 1 system call for each run of
  // blocks that were not asked for before.
  std::span<const std::byte> lend(std::uint64_t offset, std::size_t size);

  // Most pages that a reader needs have neighbours that it needs, too: of 10,000 methods in random order it
  // needs 3.3 of 4.
  static constexpr std::size_t block_size = 16 * 1024;
  static constexpr std::size_t max_lent = 256 * 1024;
  static constexpr std::uint64_t max_kept = 128 << 20;
  // 256 GB: the list of blocks takes 2 MB then.
  static constexpr std::uint64_t max_size = std::uint64_t{256} << 30;

private:
  bool fill(std::uint64_t first, std::uint64_t end);

  int file_;
  std::uint64_t size_;
  std::byte* bytes_ = nullptr; // null: nothing is lent
  std::vector<bool> filled_;   // by block
  std::uint64_t kept_ = 0;
};

} // namespace clr
