#include "core/memory/mapped_file.h"

#include "core/memory/error.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace clr {

MappedFile MappedFile::open(const std::string& path) {
  const auto fail = [&](std::string_view why) {
    throw Error(ErrorKind::io, fmt::format("cannot open {}: {}", path, why));
  };
  // O_NONBLOCK, because a name from a core may belong to a pipe or a device on this host.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) fail(std::strerror(errno));
  struct ::stat status {};
  const bool known = ::fstat(descriptor, &status) == 0;
  MappedFile file;
  file.path_ = path;
  void* mapping = nullptr;
  int error = known ? 0 : errno;
  if (known && S_ISREG(status.st_mode) && status.st_size > 0) {
    mapping =
        ::mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (mapping == MAP_FAILED) error = errno;
  }
  ::close(descriptor);
  if (error != 0) fail(std::strerror(error));
  if (!S_ISREG(status.st_mode)) fail("not a regular file");
  file.modified_ = status.st_mtim.tv_sec;
  file.changed_ = status.st_ctim.tv_sec;
  if (mapping != nullptr)
    file.bytes_ = {static_cast<const std::byte*>(mapping), static_cast<std::size_t>(status.st_size)};
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)), bytes_(std::exchange(other.bytes_, {})), modified_(other.modified_),
      changed_(other.changed_) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(bytes_, other.bytes_);
  std::swap(modified_, other.modified_);
  std::swap(changed_, other.changed_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

} // namespace clr
