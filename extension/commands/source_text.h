// The text of source files, as far as they are on this host or in a PDB.
#pragma once

#include "core/runtime/answer.h"
#include "extension/session/session.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace clr::lldb_plugin {

// The source files that one command shows. Each is read once.
class SourceTexts {
public:
  struct File {
    std::vector<std::string> lines;
    std::string found_at; // on this host; empty: in the PDB
  };
  // The file of `source`: where path maps and sysroot say, else as the PDB holds it. Null when it is nowhere,
  // cannot be read or is larger than max_file.
  const File* file(Session& session, const SourceLine& source);
  // Why file() of it was null, where that is more than that nobody has it.
  std::string problem(const SourceLine& source) const;
  // Line source.line of it, without its end; nothing when there is none.
  std::optional<std::string> line(Session& session, const SourceLine& source);

  static constexpr std::size_t max_file = 32u << 20; // bytes

private:
  struct Found {
    std::optional<File> file;
    std::string problem;
  };
  std::map<std::string, Found> files_; // by the compiler's name of them
};

} // namespace clr::lldb_plugin
