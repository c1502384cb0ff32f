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

  // As long as it was when it was opened. A file that is cut while it is mapped ends the process (SIGBUS), as
  // with every mapping.
  std::span<const std::byte> bytes() const { return bytes_; }
  const std::string& path() const { return path_; }
  // Seconds since 1970 of the last change of the content, as the file system tells it; tools can set it.
  std::int64_t modified() const { return modified_; }
  // Seconds since 1970 of the last change of the content or the inode (written, renamed, replaced); no tool
  // sets it.
  std::int64_t changed() const { return changed_; }

private:
  std::string path_;
  std::span<const std::byte> bytes_;
  std::int64_t modified_ = 0, changed_ = 0;
};

} // namespace clr
