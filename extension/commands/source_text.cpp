#include "extension/commands/source_text.h"

#include "core/memory/host_file.h"
#include "core/runtime/source_lines.h"

#include <fmt/format.h>

#include <span>
#include <sstream>

namespace clr::lldb_plugin {

namespace {
std::vector<std::string> lines_of(std::string text) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.starts_with(byte_order_mark)) text.erase(0, byte_order_mark.size());
  std::vector<std::string> lines;
  std::istringstream in(std::move(text));
  for (std::string line; std::getline(in, line);) {
    if (line.ends_with('\r')) line.pop_back();
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string doubt_of(const std::string& path, const SourceProof& proof) {
  return proof.fit == SourceFit::other
             ? fmt::format("{} is not the file that was compiled: {}", path, proof.why)
             : fmt::format("nothing tells whether {} is the file that was compiled: {}", path, proof.why);
}
} // namespace

SourceTexts::Found SourceTexts::find(Session& session, const SourceLine& source) const {
  SourceLines* const symbols = session.runtime().lines();
  if (symbols == nullptr) return {};
  Found doubtful; // the first file that is there and not proved
  for (const PathMap::Candidate& candidate : session.paths().candidates(source.file)) {
    std::string text;
    try {
      text = HostFile::open(candidate.path, candidate.named_by()).read(max_file);
    } catch (const Error&) {
      continue; // the next candidate may be readable, or the PDB may hold the text
    }
    const SourceProof proof = symbols->proof_of(source, std::as_bytes(std::span(text)));
    if (proof.fit == SourceFit::same) return {File{lines_of(std::move(text)), candidate.path, {}}, {}};
    if (!doubtful.problem.empty()) continue;
    doubtful.problem = doubt_of(candidate.path, proof);
    if (any_) doubtful.file = File{lines_of(std::move(text)), candidate.path, doubtful.problem};
  }
  if (auto text = symbols->embedded_text(source); text && text->size() <= max_file)
    return {File{lines_of(*std::move(text)), {}, {}}, {}};
  if (!doubtful.problem.empty() && !doubtful.file) doubtful.problem += "; --any shows it all the same";
  return doubtful;
}

const SourceTexts::File* SourceTexts::file(Session& session, const SourceLine& source) {
  const auto [known, fresh] = files_.try_emplace(source.file);
  Found& found = known->second;
  if (fresh) {
    try {
      found = find(session, source);
    } catch (const Error& error) {
      found.problem = error.what();
    }
  }
  return found.file ? &*found.file : nullptr;
}

std::string SourceTexts::problem(const SourceLine& source) const {
  const auto known = files_.find(source.file);
  return known == files_.end() || known->second.file ? std::string() : known->second.problem;
}

std::vector<std::string> SourceTexts::problems() const {
  std::vector<std::string> all;
  for (const auto& [name, found] : files_)
    if (!found.problem.empty()) all.push_back(found.problem);
  return all;
}

std::optional<std::string> SourceTexts::line(Session& session, const SourceLine& source) {
  const File* const found = file(session, source);
  if (found == nullptr || source.line == 0 || source.line > found->lines.size()) return std::nullopt;
  return found->lines[source.line - 1];
}

} // namespace clr::lldb_plugin
