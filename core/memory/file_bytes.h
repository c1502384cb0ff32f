// The bytes of a file that is too large to be read whole, or of memory that stands for one. The file is not
// mapped, for the reason in loaded_file.h.
#pragma once

#include "core/memory/file_blocks.h"
#include "core/memory/host_file.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace clr {

class FileBytes {
public:
  explicit FileBytes(HostFile file);
  // Of bytes that outlive this.
  explicit FileBytes(std::span<const std::byte> bytes);

  // The length that the file had when it was opened.
  std::uint64_t size() const { return size_; }

  // Fills the leading part of `out` with the bytes at `offset` and returns how many there are: fewer at the
  // end of the file, also when it was cut meanwhile. 1 system call.
  std::size_t read_some(std::uint64_t offset, std::span<std::byte> out) const;
  // As many of these bytes as there are.
  std::vector<std::byte> read(std::uint64_t offset, std::uint64_t size) const;
  // Tells where in the file some page of the target begins, for the blocks in which lend() reads. To be
  // called before lend(); without it, pages begin with the file.
  void set_page_begin(std::uint64_t offset);
  // These bytes without a copy; empty unless all of them are there. Those of a file are read in larger
  // blocks, which are kept, as far as FileBlocks does.
  std::span<const std::byte> lend(std::uint64_t offset, std::size_t size);

private:
  std::optional<HostFile> file_; // nothing: bytes_ hold all
  std::span<const std::byte> bytes_;
  std::uint64_t size_;
  std::unique_ptr<FileBlocks> blocks_; // of file_; null until something is lent
};

} // namespace clr
