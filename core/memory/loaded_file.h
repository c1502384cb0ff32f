// The content of a file of the host, read whole.
//
// Files are not mapped: when somebody cuts a file that is mapped, the next look at it ends the process with
// SIGBUS, and the process is the debugger, an IDE or a script.
#pragma once

#include "core/memory/host_file.h"
#include "core/memory/own_pages.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>

namespace clr {

class LoadedFile {
public:
  // Bytes of one file. Native programs with all their debug information have a few hundred megabytes.
  static constexpr std::uint64_t max_target_file = std::uint64_t{384} << 20;
  static constexpr std::uint64_t max_user_file = std::uint64_t{4} << 30; // of a file that the user names

  // Reads the regular file at `path`: some 0.3 ms for each megabyte that the system has in memory; the holes
  // of a file cost nothing. Throws as HostFile::open does, and Error{io} for a file beyond the limit.
  static LoadedFile open(const std::string& path, NamedBy named_by = NamedBy::user);
  // The same of a file that is open.
  static LoadedFile read(const HostFile& file, NamedBy named_by = NamedBy::user);

  // Throws Error{io} for a file beyond the limit.
  static void check_size(const HostFile& file, NamedBy named_by);

  LoadedFile() = default;

  // As many bytes as there were when it was read; what happens to the file later does not matter. They begin
  // at a cache line.
  std::span<const std::byte> bytes() const {
    return {pages_.data() != nullptr ? pages_.data() : bytes_.get(), size_};
  }
  const std::string& path() const { return path_; }
  // When the content or the inode last changed (written, renamed, replaced), in seconds since 1970; no tool
  // can set this time.
  std::int64_t changed() const { return changed_; }

private:
  struct Free {
    void operator()(std::byte* bytes) const { std::free(bytes); }
  };

  std::string path_;
  std::unique_ptr<std::byte[], Free> bytes_; // of a small file
  OwnPages pages_;                           // of a large one: its holes take no memory
  std::size_t size_ = 0;
  std::int64_t changed_ = 0;
};

} // namespace clr
