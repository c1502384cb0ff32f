// Finds the places on this host where the files of a target may be: the debugging host is seldom the one
// where the core was made.
#pragma once

#include "core/memory/host_file.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace clr {

// The last part of a path, whatever system it is from: "app.dll" of "/srv/app.dll" and of "C:\\srv\\app.dll".
constexpr std::string_view file_name_of(std::string_view path) {
  return path.substr(path.find_last_of("/\\") + 1);
}

struct PathMap {
  std::vector<std::pair<std::string, std::string>> prefixes; // target's -> host's, whole path components
  std::string sysroot;                                       // a copy of the target's root directory
  std::vector<std::string> directories;                      // searched by file name alone

  struct Candidate {
    std::string path;
    bool by_user = false; // prefixes, sysroot or directories name it; else it is the target's own path

    NamedBy named_by() const { return by_user ? NamedBy::user : NamedBy::target; }
  };
  // Host paths to try for the file that the target calls `path`, best first: by prefixes (the longest that
  // fits first), under the sysroot, as it is, by name in each directory. Not checked for existence. A path
  // that is not absolute is only searched by name; one that no file can have (is_possible_path) is not
  // searched. The target's path is worked out by its names first
  // (normal_path), so that no ".." leads out of a sysroot or of a prefix.
  std::vector<Candidate> candidates(const std::string& path) const;
};

} // namespace clr
