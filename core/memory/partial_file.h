// The content of a file of the host, each part of which is read when it is first needed: of most assemblies
// that a program loads, few bytes are ever looked at. The parts lie in memory of our own, at the distances
// that they have in the file. It is not mapped, for the reason in loaded_file.h.
#pragma once

#include "core/memory/host_file.h"
#include "core/memory/lent_bytes.h"
#include "core/memory/loaded_file.h"
#include "core/memory/own_pages.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace clr {

class PartialFile {
public:
  PartialFile() = default;
  // Of bytes that outlive this.
  explicit PartialFile(std::span<const std::byte> bytes) : bytes_(bytes) {}
  // A file that has been read.
  explicit PartialFile(LoadedFile file) : whole_(std::move(file)), bytes_(whole_.bytes()) {}
  // A file that stays open. Reserves addresses, and reads nothing. Throws std::bad_alloc when the system has
  // no addresses.
  explicit PartialFile(HostFile file);

  // Bytes, as of when the file was opened.
  std::uint64_t size() const { return bytes_.size(); }
  // Whether this has a file open.
  bool is_open() const { return file_.has_value(); }

  // The bytes [offset, offset + size), valid as long as this. Empty when they are not all there, also when
  // the file was cut or written to since it was opened: what was proven of it holds no longer. Cost: 2 system
  // calls for each run of blocks that were not asked for before.
  std::span<const std::byte> bytes(std::uint64_t offset, std::uint64_t size);

  // The same without reading them: the caller asks provide() for each part before it looks at it. Empty only
  // when they lie outside the file.
  LentBytes lend(std::uint64_t offset, std::uint64_t size);

  // Whether the bytes [offset, offset + size) are there, which are read if they were not. `size` is not 0.
  bool provide(std::uint64_t offset, std::uint64_t size) {
    const std::uint64_t first = offset / block_size, last = (offset + size - 1) / block_size;
    const bool inside = size <= bytes_.size() && offset <= bytes_.size() - size;
    if (inside && last < known_.size() && last - first <= 1 && known_[first] != 0 && known_[last] != 0)
      return true;
    return !bytes(offset, size).empty();
  }

  static constexpr std::uint64_t block_size = 16 * 1024;
  // Runs of so many bytes get large pages: the metadata of a large assembly, which is asked for as a whole.
  // Few of the files that a program loads have such a run, so that what lies beside it costs little.
  static constexpr std::uint64_t large_run = 512 * 1024;

private:
  bool read_blocks(std::uint64_t first, std::uint64_t end);

  LoadedFile whole_;
  std::optional<HostFile> file_; // nothing: bytes_ are all there
  OwnPages room_;
  std::span<const std::byte> bytes_;
  std::vector<std::uint8_t> known_; // by block: 1 when it is there
};

} // namespace clr
