#include "core/memory/host_file.h"

#include "core/memory/error.h"
#include "core/memory/read_at.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <linux/magic.h>
#include <memory>
#include <mntent.h>
#include <mutex>
#include <optional>
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

// `normal`: as normal_path() gives it.
bool lies_in_system(std::string_view normal) {
  return lies_below(normal, "/dev") || lies_below(normal, "/proc") || lies_below(normal, "/sys");
}

constexpr const char* names_system = "the target names a file of the system (/dev, /proc, /sys)";
constexpr const char* leads_to_system = "it is a link to a file of the system (/proc, /sys)";
constexpr const char* names_network = "the target names a file on a network or an automatic mount";

// The same by what was found: a link may lead where the name does not tell.
bool is_system(const struct ::statfs& found) {
  return found.f_type == PROC_SUPER_MAGIC || found.f_type == SYSFS_MAGIC;
}
bool is_remote(const struct ::statfs& found) {
  // The last three: CIFS, SMB2, Ceph. Those of FUSE say nothing: also a disk of this host may be one.
  constexpr std::array<long, 10> remote{
      AUTOFS_SUPER_MAGIC, NFS_SUPER_MAGIC, SMB_SUPER_MAGIC, AFS_SUPER_MAGIC, AFS_FS_MAGIC,
      CODA_SUPER_MAGIC,   V9FS_MAGIC,      0xFF534D42,      0xFE534D42,      0x00C36400};
  return std::ranges::find(remote, static_cast<long>(found.f_type)) != remote.end();
}

// What the link `path` says; nothing when it is no link or cannot be asked.
std::optional<std::string> link_at(const std::string& path) {
  std::array<char, PATH_MAX> text{};
  const ssize_t size = ::readlink(path.c_str(), text.data(), text.size());
  if (size <= 0 || static_cast<std::size_t>(size) == text.size()) return std::nullopt;
  return std::string(text.data(), static_cast<std::size_t>(size));
}

// Why `path` (absolute) is not followed: where it leads, link by link, lies what a target may not name. To
// ask the system where it leads would go there. Null when it may be followed.
const char* refusal_on_the_way(std::string path, const RemoteFolders& remote) {
  constexpr unsigned max_links = 40; // the kernel's own limit; beyond it opens nothing
  std::string done;                  // without links
  unsigned links = 0;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t begin = std::min(path.find_first_not_of('/', at), path.size());
    at = std::min(path.find('/', begin), path.size());
    const std::string_view name = std::string_view(path).substr(begin, at - begin);
    if (name.empty() || name == ".") continue;
    if (name == "..") {
      done.resize(std::min(done.rfind('/'), done.size()));
      continue;
    }
    const std::size_t folder = done.size();
    done.append("/").append(name);
    if (lies_in_system(done)) return names_system;
    if (remote.hold(done)) return names_network;
    if (const auto link = link_at(done)) {
      if (++links > max_links) return nullptr;
      done.resize(link->starts_with('/') ? 0 : folder);
      path.replace(0, at, *link);
      at = 0;
    }
  }
  return nullptr;
}

// Whether the user named a file of the system as such. What lies below /proc/PID/root is a process's view of
// all files, and not one of these.
bool says_system(const std::string& path) {
  const std::string normal = normal_path(path);
  constexpr std::string_view proc = "/proc/", root = "/root/";
  const std::size_t behind = normal.starts_with(proc) ? normal.find('/', proc.size()) : std::string::npos;
  if (behind == std::string::npos || normal.compare(behind, root.size(), root) != 0)
    return is_system_path(normal);
  return is_system_path(normal.substr(behind + root.size() - 1));
}

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

std::string_view kind_of_file(mode_t mode) {
  if (S_ISREG(mode)) return "a regular file";
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return S_ISLNK(mode) ? "a symbolic link" : "a device";
}

bool is_remote_file_system(std::string_view type) {
  // A program of this host answers for each file system of FUSE, and nobody can tell where it asks: on
  // another host (sshfs, rclone, s3fs, davfs, gvfs), or in what it mounts then. These are known to keep to
  // this one.
  constexpr std::array<std::string_view, 3> local{"fuse.fuse-overlayfs", "fuse.squashfuse", "fuse.snapfuse"};
  if (type == "fuse" || type.starts_with("fuse.")) return std::ranges::find(local, type) == local.end();
  constexpr std::array<std::string_view, 18> remote{
      "autofs", "nfs",   "nfs4",  "cifs",   "smb3",   "smbfs", "afs",      "coda",  "ceph",
      "9p",     "ncpfs", "davfs", "lustre", "beegfs", "gpfs",  "orangefs", "pvfs2", "glusterfs"};
  return std::ranges::find(remote, type) != remote.end();
}

RemoteFolders::RemoteFolders(std::vector<std::string> folders) : folders_(std::move(folders)) {}

RemoteFolders::RemoteFolders() {
  const std::unique_ptr<FILE, int (*)(FILE*)> mounts(::setmntent("/proc/self/mounts", "r"), &::endmntent);
  if (!mounts) return;
  struct ::mntent entry {};
  std::array<char, 8192> texts{};
  while (::getmntent_r(mounts.get(), &entry, texts.data(), texts.size()) != nullptr)
    if (is_remote_file_system(entry.mnt_type) && std::string_view(entry.mnt_dir) != "/")
      folders_.emplace_back(entry.mnt_dir);
}

bool RemoteFolders::hold(std::string_view normal) const {
  return std::ranges::any_of(folders_, [&](const std::string& folder) { return lies_below(normal, folder); });
}

namespace {

// The list of mounts as it was within the last second: a core may name a hundred thousand files, and a host
// may have thousands of mounts.
std::shared_ptr<const RemoteFolders> recent_remote_folders() {
  static std::mutex mutex;
  static std::shared_ptr<const RemoteFolders> known;
  static std::chrono::steady_clock::time_point asked;
  const std::lock_guard lock(mutex);
  const auto now = std::chrono::steady_clock::now();
  if (!known || now - asked > std::chrono::seconds(1)) {
    known = std::make_shared<const RemoteFolders>();
    asked = now;
  }
  return known;
}

} // namespace

bool is_possible_path(std::string_view path) {
  static_assert(max_path_bytes + 1 == PATH_MAX);
  if (path.size() > max_path_bytes) return false;
  std::size_t names = 0;
  for (std::size_t i = 0; i < path.size(); ++i) names += path[i] != '/' && (i == 0 || path[i - 1] == '/');
  return names <= max_path_names;
}

std::string refusal_of_target_path(const std::string& path) {
  if (!is_possible_path(path)) return std::string(no_possible_path);
  const std::shared_ptr<const RemoteFolders> recent = recent_remote_folders();
  const RemoteFolders& remote = *recent;
  const char* why = refusal_on_the_way(normal_path(path), remote);
  // With ".." behind a link, the kernel goes elsewhere than the names say.
  if (why == nullptr && path.starts_with('/')) why = refusal_on_the_way(path, remote);
  return why == nullptr ? "" : why;
}

std::string refusal_to_lend(const std::string& path, NamedBy named_by, std::uint64_t max_size,
                            const RemoteFolders& remote) {
  if (!is_possible_path(path)) return std::string(no_possible_path);
  const std::string normal = normal_path(path);
  const bool by_user = named_by == NamedBy::user;
  if (lies_in_system(normal)) return names_system;
  if (const char* why = by_user ? nullptr : refusal_on_the_way(normal, remote); why != nullptr) return why;
  struct ::stat status {};
  struct ::statfs system {};
  if (::stat(normal.c_str(), &status) != 0 || ::statfs(normal.c_str(), &system) != 0) {
    // Whoever opens it learns the same.
    constexpr std::array<int, 5> nothing{ENOENT, ENOTDIR, EACCES, ELOOP, ENAMETOOLONG};
    if (std::ranges::find(nothing, errno) != nothing.end()) return {};
    return fmt::format("it cannot be looked at: {}", std::strerror(errno));
  }
  if (!S_ISREG(status.st_mode)) return fmt::format("it is {}", kind_of_file(status.st_mode));
  if (is_system(system)) return names_system;
  if (!by_user && is_remote(system)) return names_network;
  if (static_cast<std::uint64_t>(status.st_size) > max_size)
    return fmt::format("it has more than {} bytes", max_size);
  return {};
}

std::string normal_path(const std::string& path) {
  return std::filesystem::path("/" + path.substr(std::min(path.find_first_not_of('/'), path.size())))
      .lexically_normal()
      .string();
}

bool is_system_path(const std::string& path) {
  return lies_in_system(normal_path(path));
}

HostFile HostFile::open(const std::string& path, NamedBy named_by) {
  if (path.find('\0') != std::string::npos) refuse(path.c_str(), "the name has a NUL behind that");
  if (named_by == NamedBy::target)
    if (const std::string why = refusal_of_target_path(path); !why.empty()) refuse(path, why);
  const FileDescriptor found(open_patiently(path, O_PATH | O_CLOEXEC));
  if (!found.is_open()) refuse(path, std::strerror(errno));
  struct ::stat looked_at {};
  if (::fstat(found.number(), &looked_at) != 0) refuse(path, std::strerror(errno));
  if (!S_ISREG(looked_at.st_mode))
    refuse(path, fmt::format("not a regular file but {}", kind_of_file(looked_at.st_mode)));
  struct ::statfs system {};
  if (::fstatfs(found.number(), &system) != 0) refuse(path, std::strerror(errno));
  const bool by_target = named_by == NamedBy::target;
  if (by_target && is_system(system)) refuse(path, names_system);
  if (by_target && is_remote(system)) refuse(path, names_network);
  // Files that came with a core may be links, in a folder that the user named.
  if (is_system(system) && !says_system(path)) refuse(path, leads_to_system);
  // Without /proc the name is resolved again; what it leads to must be what was looked at.
  constexpr int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  FileDescriptor file(open_patiently(fmt::format("/proc/self/fd/{}", found.number()), flags));
  if (!file.is_open() && (errno == ENOENT || errno == ENOTDIR)) {
    FileDescriptor again(open_patiently(path, flags));
    if (!again.is_open()) refuse(path, std::strerror(errno));
    struct ::stat status {};
    if (::fstat(again.number(), &status) != 0 || !same_file(status, looked_at))
      refuse(path, "it was replaced while it was opened");
    return {path, std::move(again), looked_at};
  }
  if (!file.is_open()) refuse(path, std::strerror(errno));
  return {path, std::move(file), looked_at};
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
    const std::size_t got = read_at(descriptor(), rest, done);
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
