// The one way in which a file of this host is opened for reading.
//
// A core names files, and whoever made the core chose the names. Opening a device or a pipe can block, rewind
// a tape or read without end, and a path on a network may wait for a server: so the file is looked at before
// it is opened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <sys/stat.h>

namespace clr {

// Whose word it is that the file shall be opened. What the user names may lie anywhere; what only the target
// names may not lie in /dev, /proc or /sys, nor on a network or below a place that is mounted when it is
// used.
enum class NamedBy : std::uint8_t { user, target };

class HostFile {
public:
  // Opens the regular file at `path`. The kernel resolves the name once, without opening what it finds
  // (O_PATH), and what was found is what is opened. Throws Error{io} with the reason: the system's, "not a
  // regular file", or why a name of the target's is not followed.
  static HostFile open(const std::string& path, NamedBy named_by = NamedBy::user);

  HostFile(const HostFile&) = delete;
  HostFile& operator=(const HostFile&) = delete;
  HostFile(HostFile&& other) noexcept;
  ~HostFile();

  const std::string& path() const { return path_; }
  int descriptor() const { return descriptor_; }
  const struct ::stat& status() const { return status_; }

  // The whole content. Throws Error{io} when there are more than `limit` bytes, by the file's size or by what
  // it turns out to hold, and when the system cannot read it.
  std::string read(std::size_t limit) const;

private:
  HostFile(std::string path, int descriptor, const struct ::stat& status)
      : path_(std::move(path)), descriptor_(descriptor), status_(status) {}

  std::string path_;
  int descriptor_ = -1;
  struct ::stat status_ {};
};

// Why a path that only the target names is not followed, by the name alone: it lies in /dev, /proc or /sys,
// on a network or below an automatic mount. Empty when it may be opened. Asks for the list of mounts, never
// for the path.
std::string refusal_of_target_path(const std::string& path);

// `path` (absolute) with "." , ".." and doubled slashes worked out by the names alone: "/dev/x" of
// "/x/..//dev/x".
std::string normal_path(const std::string& path);

// Whether `path`, as it is written, lies below /dev, /proc or /sys. No file system is asked.
bool is_system_path(const std::string& path);

} // namespace clr
