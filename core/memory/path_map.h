// Finds the places on this host where the files of a target may be: the debugging host is seldom the one
// where the core was made.
#pragma once

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
    bool by_user = false; // found by prefixes, sysroot or directories; else it is the target's own path
  };
  // Host paths to try for the file that the target calls `path`, best first: by prefixes (the longest
  // matching prefix first), under the sysroot, the path itself, by file name in each directory. They are not
  // checked for existence. A path that is not absolute is searched only by file name.
  std::vector<Candidate> candidates(const std::string& path) const;
};

} // namespace clr
