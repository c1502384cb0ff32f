// The text of source files, as far as they are on this host or in a PDB.
#pragma once

#include "core/runtime/answer.h"
#include "extension/session.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace clr::lldb_plugin {

// Files of one command, each read once.
class SourceTexts {
public:
  // Line source.line of source.file, without its end; nothing when the file is not on this host or is
  // shorter.
  std::optional<std::string> line(Session& session, const SourceLine& source);
  // All lines; null when the file is not on this host, cannot be read or is larger than max_file. `path` is
  // as the compiler saw it: path maps and sysroot apply.
  const std::vector<std::string>* file(Session& session, const std::string& path);

  static constexpr std::size_t max_file = 32u << 20; // bytes

private:
  std::map<std::string, std::optional<std::vector<std::string>>> files_;
};

} // namespace clr::lldb_plugin
