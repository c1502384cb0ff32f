#include "core/memory/output_file.h"

#include "core/memory/error.h"
#include "core/memory/host_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

namespace clr {
namespace {

constexpr std::size_t buffer_size = 64 * 1024; // bytes
constexpr unsigned max_names = 16;             // tried for the new file; two that meet are a wonder

bool is_null_device(const struct ::stat& found) {
  return S_ISCHR(found.st_mode) && found.st_rdev == makedev(1, 3);
}

// What is at `path` itself; nothing when it is free. An error is left to whoever opens it.
std::optional<struct ::stat> look_at(const std::string& path) {
  struct ::stat found {};
  return ::lstat(path.c_str(), &found) == 0 ? std::optional(found) : std::nullopt;
}

// Beyond its limit a write ends the whole process by a signal (SIGXFSZ).
std::uint64_t largest_file() {
  struct ::rlimit limit {};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return std::numeric_limits<std::uint64_t>::max();
  return limit.rlim_cur;
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

} // namespace

OutputFile::OutputFile(std::string path, Readers readers, bool named)
    : path_(std::move(path)), room_(largest_file()) {
  if (path_.empty() || path_.find('\0') != std::string::npos) refuse("that is no name of a file");
  mode_t mode = readers == Readers::owner ? 0600 : 0644;
  if (const auto old = look_at(path_)) {
    if (is_null_device(*old)) {
      file_ =
          FileDescriptor(::open(path_.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
      struct ::stat opened {};
      if (!file_.is_open() || ::fstat(file_.number(), &opened) != 0) fail();
      if (!is_null_device(opened)) refuse("it was replaced while it was opened");
      return;
    }
    if (S_ISLNK(old->st_mode)) refuse("it is a symbolic link; give the file itself");
    if (!S_ISREG(old->st_mode)) refuse(fmt::format("it is {}", kind_of_file(old->st_mode)));
    mode &= old->st_mode;
  }
  if (named || !make_unnamed(mode)) make_partial(mode);
}

OutputFile::~OutputFile() {
  if (!partial_.empty()) std::remove(partial_.c_str());
}

// False where there are no such files, or where they could not be given a name later. Other errors are left
// to make_partial.
bool OutputFile::make_unnamed(mode_t mode) {
  const std::string folder = path_.substr(0, path_.rfind('/') + 1);
  const auto open_unnamed = [&] {
    return FileDescriptor(
        ::open(folder.empty() ? "." : folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, mode));
  };
  // A sandbox or a file system may refuse the name, and nobody shall learn that at the end of a long core: an
  // empty file tries it. The file itself could not be given one a second time.
  const FileDescriptor tried = open_unnamed();
  if (!tried.is_open() || !name_unnamed(tried)) return false;
  std::remove(partial_.c_str());
  partial_.clear();
  file_ = open_unnamed();
  return unnamed_ = file_.is_open();
}

// In the folder of its place, so that it can be renamed. `make` gets a name and returns whether it made a
// file of it; it sets errno, which a failure leaves.
template<typename Make>
bool OutputFile::with_new_name(const Make& make) {
  const std::string folder = path_.substr(0, path_.rfind('/') + 1);
  for (unsigned tries = 0; tries < max_names; ++tries) {
    std::uint64_t number = 0;
    if (::getrandom(&number, sizeof number, 0) != sizeof number) return false;
    std::string name = fmt::format("{}.lldb-clr-{:016x}", folder, number);
    if (make(name)) {
      partial_ = std::move(name);
      return true;
    }
    if (errno != EEXIST) return false;
  }
  return false;
}

// Neither follows a link nor opens what is there.
void OutputFile::make_partial(mode_t mode) {
  const bool made = with_new_name([&](const std::string& name) {
    file_ = FileDescriptor(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
    return file_.is_open();
  });
  if (!made) fail();
}

// linkat replaces nothing, so that the file gets a name of its own and is renamed, as the others are.
bool OutputFile::name_unnamed(const FileDescriptor& file) {
  const std::string link = fmt::format("/proc/self/fd/{}", file.number());
  return with_new_name([&](const std::string& name) {
    return ::linkat(AT_FDCWD, link.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
  });
}

void OutputFile::write(std::span<const std::byte> bytes) {
  if (buffer_.size() + bytes.size() > buffer_size) flush();
  if (bytes.size() >= buffer_size) return put(bytes);
  buffer_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void OutputFile::write(std::string_view text) {
  write(bytes_of(text));
}

void OutputFile::flush() {
  put(bytes_of(buffer_));
  buffer_.clear();
}

void OutputFile::put(std::span<const std::byte> bytes) {
  if (bytes.size() > room_) {
    errno = EFBIG;
    fail();
  }
  if (!write_all(file_.number(), bytes)) fail();
  room_ -= bytes.size();
}

void OutputFile::commit() {
  flush();
  const bool to_disk = unnamed_ || !partial_.empty();
  // Some systems find out only now that there is no room.
  if (to_disk && ::fsync(file_.number()) != 0 && errno != EINVAL) fail();
  if (unnamed_ && !name_unnamed(file_)) fail();
  if (::close(file_.release()) != 0 && errno != EINTR) fail();
  if (!to_disk) return;
  if (const auto old = look_at(path_); old && !S_ISREG(old->st_mode))
    refuse(fmt::format("it has become {}", kind_of_file(old->st_mode)));
  if (std::rename(partial_.c_str(), path_.c_str()) != 0) fail();
  partial_.clear();
}

void OutputFile::fail() const {
  refuse(std::strerror(errno));
}

void OutputFile::refuse(std::string_view why) const {
  throw Error(ErrorKind::io, fmt::format("cannot write {}: {}", path_, why));
}

} // namespace clr
