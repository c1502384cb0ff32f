// A file of the host, mapped and not copied. Only for files of which little is read and that may be too large
// to copy: symbol tables and traces that the user names, and PDBs beyond 16 MB. Everything else is read
// (loaded_file.h, file_bytes.h).
#pragma once

#include "core/memory/host_file.h"

#include <cstddef>
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

private:
  std::span<const std::byte> bytes_;
};

} // namespace clr
