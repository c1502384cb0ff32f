// A file of the host that is open, and the one way in which bytes are written to it.
#pragma once

#include <cerrno>
#include <cstddef>
#include <span>
#include <unistd.h>
#include <utility>

namespace clr {

// Closed with this object unless it is released.
class FileDescriptor {
public:
  FileDescriptor() = default;
  // `number`: as open() returned it, so that a negative one means that nothing is open.
  explicit FileDescriptor(int number) : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~FileDescriptor() {
    if (number_ >= 0) ::close(number_);
  }

  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  int release() { return std::exchange(number_, -1); }

private:
  int number_ = -1;
};

// Writes all of `bytes`, also when signals interrupt the writing. False when the system refuses, with errno
// set. Tests pass their own `write`.
template<typename Write = decltype(&::write)>
bool write_all(int file, std::span<const std::byte> bytes, Write write = &::write) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written == 0) errno = EIO;
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

} // namespace clr
