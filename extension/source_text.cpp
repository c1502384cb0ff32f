#include "extension/source_text.h"

#include <fstream>

namespace clr::lldb_plugin {

namespace {
std::optional<std::vector<std::string>> read_lines(const std::string& path, std::size_t max_bytes) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  std::vector<std::string> lines;
  std::string line;
  std::size_t total = 0;
  while (std::getline(in, line)) {
    total += line.size() + 1;
    if (total > max_bytes) return std::nullopt;
    if (line.ends_with('\r')) line.pop_back();
    lines.push_back(std::move(line));
  }
  // A folder opens too, and then gives nothing.
  if (in.bad() || lines.empty()) return std::nullopt;
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (lines.front().starts_with(byte_order_mark)) lines.front().erase(0, byte_order_mark.size());
  return lines;
}
} // namespace

const std::vector<std::string>* SourceTexts::file(Session& session, const std::string& path) {
  auto known = files_.find(path);
  if (known == files_.end()) {
    std::optional<std::vector<std::string>> lines;
    for (const PathMap::Candidate& candidate : session.paths().candidates(path))
      if ((lines = read_lines(candidate.path, max_file))) break;
    known = files_.emplace(path, std::move(lines)).first;
  }
  return known->second ? &*known->second : nullptr;
}

std::optional<std::string> SourceTexts::line(Session& session, const SourceLine& source) {
  const auto* const lines = file(session, source.file);
  if (lines == nullptr || source.line == 0 || source.line > lines->size()) return std::nullopt;
  return (*lines)[source.line - 1];
}

} // namespace clr::lldb_plugin
