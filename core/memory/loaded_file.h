// A file of the host, mapped and not copied.
#pragma once

#include "core/memory/host_file.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace clr {

class MappedFile {
public:
  // Maps the regular file at `path` for reading. Throws as HostFile::open does.
  static MappedFile open(const std::string& path, NamedBy named_by = NamedBy::user);

  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  // Has the length that the file had when it was opened. If someone cuts the file while it is mapped, the
  // process ends with SIGBUS, as with every mapping.
  std::span<const std::byte> bytes() const { return bytes_; }
  const std::string& path() const { return path_; }
  // When the content last changed, in seconds since 1970, as the file system tells it; tools can set this
  // time.
  std::int64_t modified() const { return modified_; }
  // When the content or the inode last changed (written, renamed, replaced), in seconds since 1970; no tool
  // can set this time.
  std::int64_t changed() const { return changed_; }

private:
  std::string path_;
  std::span<const std::byte> bytes_;
  std::int64_t modified_ = 0, changed_ = 0;
};

} // namespace clr
