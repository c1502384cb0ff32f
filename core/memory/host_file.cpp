#include "core/memory/host_file.h"

#include "core/memory/error.h"
#include "core/memory/read_at.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <linux/magic.h>
#include <sstream>
#include <string_view>
#include <sys/vfs.h>
#include <unistd.h>
#include <utility>

namespace clr {
namespace {

[[noreturn]] void refuse(const std::string& path, std::string_view why) {
  throw Error(ErrorKind::io, fmt::format("cannot open {}: {}", path, why));
}

bool lies_below(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

// File systems whose files wait for another host, or are mounted when somebody goes there.
bool is_remote(std::string_view type) {
  constexpr std::array<std::string_view, 12> remote{"autofs", "nfs",  "nfs4", "cifs", "smb3",  "smbfs",
                                                    "afs",    "coda", "ceph", "9p",   "ncpfs", "fuse.sshfs"};
  return std::ranges::find(remote, type) != remote.end();
}

} // namespace

std::string refusal_of_target_path(const std::string& path) {
  const std::string normal = normal_path(path);
  if (is_system_path(normal)) return "the target names a file of the system (/dev, /proc, /sys)";
  std::ifstream mounts("/proc/self/mounts");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string source, folder, type;
    words >> source >> folder >> type;
    if (is_remote(type) && folder != "/" && lies_below(normal, folder))
      return "the target names a file on a network or an automatic mount";
  }
  return {};
}

namespace {

// The same by what was found: a link may lead where the name does not tell.
bool is_refused_system(int descriptor) {
  struct ::statfs system {};
  if (::fstatfs(descriptor, &system) != 0) return false;
  constexpr std::array<long, 7> refused{
      PROC_SUPER_MAGIC, SYSFS_MAGIC, AUTOFS_SUPER_MAGIC, NFS_SUPER_MAGIC,
      SMB_SUPER_MAGIC,  0xFF534D42,  0xFE534D42}; // the last two: CIFS, SMB2
  return std::ranges::find(refused, static_cast<long>(system.f_type)) != refused.end();
}

class Descriptor {
public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }
  int release() { return std::exchange(number_, -1); }

private:
  int number_;
};

// A signal may interrupt the opening on file systems that wait for another process (FUSE, NFS).
int open_patiently(const std::string& path, int flags) {
  int file = -1;
  do file = ::open(path.c_str(), flags);
  while (file < 0 && errno == EINTR);
  return file;
}

bool same_file(const struct ::stat& a, const struct ::stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

} // namespace

std::string normal_path(const std::string& path) {
  return std::filesystem::path("/" + path.substr(std::min(path.find_first_not_of('/'), path.size())))
      .lexically_normal()
      .string();
}

bool is_system_path(const std::string& path) {
  const std::string normal = normal_path(path);
  return lies_below(normal, "/dev") || lies_below(normal, "/proc") || lies_below(normal, "/sys");
}

HostFile HostFile::open(const std::string& path, NamedBy named_by) {
  if (path.find('\0') != std::string::npos) refuse(path.c_str(), "the name has a NUL behind that");
  if (named_by == NamedBy::target)
    if (const std::string why = refusal_of_target_path(path); !why.empty()) refuse(path, why);
  const Descriptor found(open_patiently(path, O_PATH | O_CLOEXEC));
  if (found.number() < 0) refuse(path, std::strerror(errno));
  struct ::stat looked_at {};
  if (::fstat(found.number(), &looked_at) != 0) refuse(path, std::strerror(errno));
  if (!S_ISREG(looked_at.st_mode)) refuse(path, "not a regular file");
  if (named_by == NamedBy::target && is_refused_system(found.number()))
    refuse(path, "the target names a file of the system or of a network");
  // Without /proc the name is resolved again; what it leads to must be what was looked at.
  constexpr int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  Descriptor file(open_patiently(fmt::format("/proc/self/fd/{}", found.number()), flags));
  if (file.number() < 0 && (errno == ENOENT || errno == ENOTDIR)) {
    Descriptor again(open_patiently(path, flags));
    if (again.number() < 0) refuse(path, std::strerror(errno));
    struct ::stat status {};
    if (::fstat(again.number(), &status) != 0 || !same_file(status, looked_at))
      refuse(path, "it was replaced while it was opened");
    return {path, again.release(), looked_at};
  }
  if (file.number() < 0) refuse(path, std::strerror(errno));
  return {path, file.release(), looked_at};
}

HostFile::HostFile(HostFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)),
      status_(other.status_) {}

HostFile::~HostFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::string HostFile::read(std::size_t limit) const {
  const auto too_large = [&] {
    throw Error(ErrorKind::io, fmt::format("{} has more than {} bytes", path_, limit));
  };
  const auto size = static_cast<std::uint64_t>(status_.st_size);
  if (size > limit) too_large();
  // One byte more than the size tells a file that has grown; those of /proc say 0 and hold more.
  std::string text(static_cast<std::size_t>(size) + 1, '\0');
  std::size_t done = 0;
  for (;;) {
    errno = 0;
    const auto rest = std::as_writable_bytes(std::span(text)).subspan(done);
    const std::size_t got = read_at(descriptor_, rest, done);
    done += got;
    if (got < rest.size()) {
      if (errno != 0) refuse(path_, std::strerror(errno));
      break;
    }
    if (done > limit) too_large();
    text.resize(std::min(2 * text.size(), limit + 1));
  }
  text.resize(done);
  return text;
}

} // namespace clr
