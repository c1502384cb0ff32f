#include "extension/commands/source_text.h"

#include "core/memory/host_file.h"
#include "core/runtime/source_lines.h"

#include <sstream>

namespace clr::lldb_plugin {

namespace {
// The lines of `in`; none when there are more than max_bytes.
std::vector<std::string> read_lines(std::istream& in, std::size_t max_bytes) {
  std::vector<std::string> lines;
  std::string line;
  std::size_t total = 0;
  while (std::getline(in, line)) {
    total += line.size() + 1;
    if (total > max_bytes) return {};
    if (line.ends_with('\r')) line.pop_back();
    lines.push_back(std::move(line));
  }
  // A folder can be opened too, but nothing can be read from it.
  if (in.bad() || lines.empty()) return {};
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (lines.front().starts_with(byte_order_mark)) lines.front().erase(0, byte_order_mark.size());
  return lines;
}

std::optional<SourceTexts::File> find(Session& session, const SourceLine& source) {
  SourceTexts::File file;
  for (const PathMap::Candidate& candidate : session.paths().candidates(source.file)) {
    try {
      std::istringstream in(HostFile::open(candidate.path, candidate.named_by()).read(SourceTexts::max_file));
      file.lines = read_lines(in, SourceTexts::max_file);
    } catch (const Error&) {
      continue; // the next candidate may be readable, or the PDB may hold the text
    }
    if (file.lines.empty()) continue;
    file.found_at = candidate.path;
    return file;
  }
  SourceLines* const symbols = session.runtime().lines();
  const auto text = symbols == nullptr ? std::nullopt : symbols->embedded_text(source);
  if (!text) return std::nullopt;
  std::istringstream in(*text);
  file.lines = read_lines(in, SourceTexts::max_file);
  if (file.lines.empty()) return std::nullopt;
  return file;
}
} // namespace

const SourceTexts::File* SourceTexts::file(Session& session, const SourceLine& source) {
  const auto [known, fresh] = files_.try_emplace(source.file);
  Found& found = known->second;
  if (fresh) {
    try {
      found.file = find(session, source);
    } catch (const Error& error) {
      found.problem = error.what();
    }
  }
  return found.file ? &*found.file : nullptr;
}

std::string SourceTexts::problem(const SourceLine& source) const {
  const auto known = files_.find(source.file);
  return known == files_.end() ? std::string() : known->second.problem;
}

std::optional<std::string> SourceTexts::line(Session& session, const SourceLine& source) {
  const File* const found = file(session, source);
  if (found == nullptr || source.line == 0 || source.line > found->lines.size()) return std::nullopt;
  return found->lines[source.line - 1];
}

} // namespace clr::lldb_plugin
