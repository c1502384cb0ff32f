// The source files that a debugger is told of by name. It opens them by itself, when it shows a frame, and
// whoever made the symbols chose the names: one may lead to a device that never ends, or to a pipe that
// nobody writes to.
#pragma once

#include "core/memory/host_file.h"
#include "core/memory/path_map.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace clr {

class DocumentFiles {
public:
  // `paths`: where the target's files are on this host; a path that they keep as it is (a sysroot of "/") is
  // one that the user named. Must outlive this. Asks for the list of mounts once.
  explicit DocumentFiles(const PathMap& paths) : paths_(&paths) {}

  // Whether a debugger may be given `document`, a name of the PDB. It may when the file of this host that it
  // would open is regular and of a reasonable size, and when there is no such file: the debugger may have
  // path maps of its own, which the user made. It may not when no file can have this name (is_possible_path).
  // No target reads; asks the host's file system once for each name.
  bool may_name(const std::string& document);

  // Sentences about the names that were refused, each once; all that no file can have are told together, and
  // so are all beyond the limits.
  std::vector<std::string> take_problems();

  static constexpr std::size_t max_asked = 100'000; // different names; further ones are refused
  // Bytes of all these names: those of real programs have 100 bytes each.
  static constexpr std::size_t max_asked_bytes = 16u << 20;
  static constexpr std::uint64_t max_size = 256u << 20; // bytes; a debugger reads a source file whole

private:
  // Tells it if `told` is not set. False.
  bool refuse_once(bool& told, const char* problem);
  std::string refusal(const std::string& document) const;
  std::string refusal_of_name(const std::string& name) const;
  std::string refusal_of_path(const std::string& path) const;

  const PathMap* paths_;
  RemoteFolders remote_;
  std::unordered_map<std::string, bool> known_;
  std::size_t known_bytes_ = 0; // of their names
  bool told_impossible_ = false, told_full_ = false;
  std::vector<std::string> problems_;
};

} // namespace clr
