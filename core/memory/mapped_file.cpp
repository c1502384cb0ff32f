#include "core/memory/mapped_file.h"

#include "core/memory/error.h"

#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <sys/mman.h>
#include <utility>

namespace clr {

MappedFile MappedFile::open(const std::string& path, NamedBy named_by) {
  const HostFile opened = HostFile::open(path, named_by);
  MappedFile file;
  const auto size = static_cast<std::size_t>(opened.status().st_size);
  if (size == 0) return file;
  void* mapping = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, opened.descriptor(), 0);
  if (mapping == MAP_FAILED)
    throw Error(ErrorKind::io, fmt::format("cannot open {}: {}", path, std::strerror(errno)));
  file.bytes_ = {static_cast<const std::byte*>(mapping), size};
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

} // namespace clr
