// The text of source files, as far as they are on this host or in a PDB.
#pragma once

#include "core/runtime/answer.h"
#include "extension/session/session.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace clr::lldb_plugin {

// The source files that one command shows. Each is read once.
//
// A file of this host is shown when its hash is the one in the PDB. The target names the file, and it may
// name any: without that proof a command would print what another program's symbols ask for, or lines of
// another version of the source. Text in the PDB needs no proof.
class SourceTexts {
public:
  // `any`: files without that proof are shown, too.
  explicit SourceTexts(bool any) : any_(any) {}

  struct File {
    std::string text;
    std::vector<std::uint32_t> ends; // of its lines in `text`, without what ends them: a line is 4 bytes here
    std::string found_at;            // on this host; empty: in the PDB
    std::string doubt; // why it may be another text than the one that was compiled; empty: it is not

    std::size_t lines() const { return ends.size(); }
    // Line `number`, from 1 to lines(), cut to max_line bytes.
    std::string line(std::size_t number) const;
  };
  // The file of `source`: where path maps and sysroot say, else as the PDB holds it. Null when it is nowhere,
  // cannot be read, is larger than max_file or than what max_all leaves, or is not proved.
  const File* file(Session& session, const SourceLine& source);
  // Why file() of it was null, a sentence, where that is more than that nobody has it.
  std::string problem(const SourceLine& source) const;
  // Such sentences of all files that were asked for, and the doubts.
  std::vector<std::string> problems() const;
  // Line source.line of it, without its end; nothing when there is none.
  std::optional<std::string> line(Session& session, const SourceLine& source);

  static constexpr std::size_t max_file = 32u << 20; // bytes
  static constexpr std::size_t max_all = 64u << 20;  // bytes that are read, shown or not
  static constexpr std::size_t max_line = 4096;      // bytes

private:
  struct Found {
    std::optional<File> file;
    std::string problem;
  };
  Found find(Session& session, const SourceLine& source);
  // Bytes that the next file may have; what was read is taken off by count().
  std::size_t room() const { return std::min(max_file, max_all - read_); }
  void count(std::size_t bytes) { read_ += std::min(bytes, max_all - read_); }

  bool any_;
  std::size_t read_ = 0;               // bytes of all files so far
  std::map<std::string, Found> files_; // by the compiler's name of them
};

} // namespace clr::lldb_plugin
