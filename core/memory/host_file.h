// The one way in which a file of this host is opened for reading.
//
// A core names files, and whoever made the core chose the names. Opening a device or a pipe can block, rewind
// a tape or read without end, and a path on a network may wait for a server: so the file is looked at before
// it is opened.
#pragma once

#include "core/memory/file_descriptor.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <vector>

namespace clr {

// Whose word it is that the file shall be opened. What the user names may lie anywhere; what only the target
// names may not lie in /dev, /proc or /sys, nor on a network or below a place that is mounted when it is
// used.
enum class NamedBy : std::uint8_t { user, target };

// A path that some file may have: no program of the target has opened another one. The kernel takes fewer
// than PATH_MAX bytes, the NUL included; folders of real programs lie some 20 names deep.
constexpr std::size_t max_path_bytes = 4095;
constexpr std::size_t max_path_names = 256;
// No more than max_path_bytes and max_path_names, as it is written. No file system is asked.
bool is_possible_path(std::string_view path);
constexpr std::string_view no_possible_path = "its path is longer than that of any file";

class HostFile {
public:
  // Opens the regular file at `path`. The kernel resolves the name once, without opening what it finds
  // (O_PATH), and what was found is what is opened. Throws Error{io} with the reason: the system's, "not a
  // regular file", or why a name of the target's is not followed.
  static HostFile open(const std::string& path, NamedBy named_by = NamedBy::user);

  const std::string& path() const { return path_; }
  int descriptor() const { return file_.number(); }
  const struct ::stat& status() const { return status_; }

  // The whole content. Throws Error{io} when there are more than `limit` bytes, by the file's size or by what
  // it turns out to hold, and when the system cannot read it.
  std::string read(std::size_t limit) const;

private:
  HostFile(std::string path, FileDescriptor file, const struct ::stat& status)
      : path_(std::move(path)), file_(std::move(file)), status_(status) {}

  std::string path_;
  FileDescriptor file_;
  struct ::stat status_ {};
};

// "a folder", "a device", "a pipe", "a socket", "a symbolic link"; "a regular file".
std::string_view kind_of_file(mode_t mode);

// Whether files of a file system of this type (as /proc/self/mounts calls it) may wait for another host, or
// are mounted when somebody goes there. All of FUSE but those that are known to keep to this host. Source:
// Linux, Documentation/filesystems.
bool is_remote_file_system(std::string_view type);

// The folders of this host whose files wait for another host, or that are mounted when somebody goes there.
// Asks for the list of mounts once, when it is made, and never for a path.
class RemoteFolders {
public:
  RemoteFolders();
  // These ones, as normal_path() gives them.
  explicit RemoteFolders(std::vector<std::string> folders);
  // `normal`: as normal_path() gives it.
  bool hold(std::string_view normal) const;

private:
  std::vector<std::string> folders_;
};

// Why a path that only the target names is not followed, by the names and the links on its way: one of them
// lies in /dev, /proc or /sys, on a network or below an automatic mount; or no file can have this path. Empty
// when it may be opened. Asks for the list of mounts and for each link, never for what a link leads to.
std::string refusal_of_target_path(const std::string& path);

// Why somebody else (a debugger) who opens files by their names should not be given `path`, which the target
// chose: no file can have this path; it lies in /dev, /proc or /sys; it is no regular file, or one of more
// than `max_size` bytes; the file system cannot tell what it is; and, unless the user named the path too, it
// lies on a network. Empty when it is a regular file, and when there is nothing that could be opened. Asks
// for the path's status, and opens nothing. The path is worked out by its names first, as LLDB does.
std::string refusal_to_lend(const std::string& path, NamedBy named_by, std::uint64_t max_size,
                            const RemoteFolders& remote);

// `path` (absolute) with "." , ".." and doubled slashes worked out by the names alone: "/dev/x" of
// "/x/..//dev/x".
std::string normal_path(const std::string& path);

// Whether `path`, as it is written, lies below /dev, /proc or /sys. No file system is asked.
bool is_system_path(const std::string& path);

} // namespace clr
