#include "extension/commands/source_text.h"

#include "core/memory/host_file.h"
#include "core/memory/utf8.h"
#include "core/runtime/source_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>

namespace clr::lldb_plugin {

namespace {
// Bytes that a text counts for which a PDB holds damaged: trying takes time, too.
constexpr std::size_t counted_for_failure = 2u << 20;

SourceTexts::File file_of(std::string text, std::string found_at, std::string doubt) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.starts_with(byte_order_mark)) text.erase(0, byte_order_mark.size());
  std::vector<std::uint32_t> ends;
  ends.reserve(static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    ends.push_back(static_cast<std::uint32_t>(end));
    at = end + 1;
  }
  return {std::move(text), std::move(ends), std::move(found_at), std::move(doubt)};
}

std::string doubt_of(const std::string& path, const SourceProof& proof) {
  return proof.fit == SourceFit::other
             ? fmt::format("{} is not the file that was compiled: {}", path, proof.why)
             : fmt::format("nothing tells whether {} is the file that was compiled: {}", path, proof.why);
}
} // namespace

std::string SourceTexts::File::line(std::size_t number) const {
  const std::size_t begin = number == 1 ? 0 : ends[number - 2] + 1;
  std::string_view found = std::string_view(text).substr(begin, ends[number - 1] - begin);
  if (found.ends_with('\r')) found.remove_suffix(1);
  const std::string_view shown = cut_utf8(found, max_line);
  return shown.size() == found.size() ? std::string(found) : fmt::format("{}...", shown);
}

SourceTexts::Found SourceTexts::find(Session& session, const SourceLine& source) {
  SourceLines* const symbols = session.runtime().lines();
  if (symbols == nullptr) return {};
  Found doubtful; // the first file that is there and not proved
  for (const PathMap::Candidate& candidate : session.paths().candidates(source.file)) {
    std::string text;
    try {
      text = HostFile::open(candidate.path, candidate.named_by()).read(room());
    } catch (const Error&) {
      continue; // the next candidate may be readable, or the PDB may hold the text
    }
    count(text.size());
    const SourceProof proof = symbols->proof_of(source, std::as_bytes(std::span(text)));
    if (proof.fit == SourceFit::same) return {file_of(std::move(text), candidate.path, {}), {}};
    if (!doubtful.problem.empty()) continue;
    doubtful.problem = doubt_of(candidate.path, proof);
    if (any_) doubtful.file = file_of(std::move(text), candidate.path, doubtful.problem);
  }
  try {
    if (auto text = symbols->embedded_text(source, room())) {
      count(text->size());
      return {file_of(*std::move(text), {}, {}), {}};
    }
  } catch (const Error&) {
    count(counted_for_failure);
    throw;
  }
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
  if (found == nullptr || source.line == 0 || source.line > found->lines()) return std::nullopt;
  return found->line(source.line);
}

} // namespace clr::lldb_plugin
