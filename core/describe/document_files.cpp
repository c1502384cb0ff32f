#include "core/describe/document_files.h"

#include "core/dwarf/lines.h"
#include "core/dwarf/string_section.h"
#include "core/memory/utf8.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <string_view>
#include <utility>

namespace clr {
namespace {

constexpr std::size_t max_told = 8; // problems that are kept until they are taken

// ".." between separators of either kind.
bool climbs(std::string_view path) {
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find_first_of("/\\", at), path.size());
    if (path.substr(at, end - at) == "..") return true;
    at = end + 1;
  }
  return false;
}

// The path that a debugger makes of the directory and the name in a line table, of which `shown` says how
// they stand there.
std::string joined(const std::string& document, const std::function<std::string(std::string_view)>& shown) {
  const SplitPath split = split_path(document);
  if (split.directory.empty()) return shown(split.name);
  const std::string directory = shown(split.directory);
  return fmt::format("{}{}{}", directory, directory == "/" ? "" : "/", shown(split.name));
}

} // namespace

bool DocumentFiles::may_name(const std::string& document) {
  // They are not kept: names of a PDB share their parts, and together have thousands of times its size.
  if (!is_possible_path(document))
    return refuse_once(told_impossible_,
                       "source files with longer paths than any file has: lines do not name them");
  const auto known = known_.find(document);
  if (known != known_.end()) return known->second;
  if (document.empty()) return false;
  if (known_.size() >= max_asked || document.size() > max_asked_bytes - known_bytes_)
    return refuse_once(told_full_,
                       "more source files than the host is asked for: lines do not name the rest");
  known_bytes_ += document.size();
  const std::string why = refusal(document);
  known_.emplace(document, why.empty());
  if (!why.empty() && problems_.size() < max_told)
    problems_.push_back(fmt::format("source file {}: lines do not name it: {}", document, why));
  return why.empty();
}

bool DocumentFiles::refuse_once(bool& told, const char* problem) {
  if (!std::exchange(told, true)) problems_.emplace_back(problem);
  return false;
}

std::vector<std::string> DocumentFiles::take_problems() {
  return std::exchange(problems_, {});
}

std::string DocumentFiles::refusal(const std::string& document) const {
  // A debugger opens what the line table says, in which other characters stand for those that a terminal
  // obeys: that may be another file of this host.
  const std::string as_it_is = joined(document, [](std::string_view part) { return std::string(part); });
  std::string why = refusal_of_name(document);
  if (why.empty() && as_it_is != document) why = refusal_of_name(as_it_is);
  if (!why.empty() || is_printable(document)) return why;
  return refusal_of_name(joined(document, shown_name));
}

std::string DocumentFiles::refusal_of_name(const std::string& name) const {
  if (name.starts_with('/')) return refusal_of_path(name);
  // Looked for below the folder that the debugger runs in, paths of Windows too.
  if (name.starts_with('~')) return "a debugger takes it for a file of a user's home";
  if (climbs(name)) return "it leaves the folder that it is relative to";
  std::error_code error;
  const std::string folder = std::filesystem::current_path(error).string();
  return error ? std::string() : refusal_of_path(fmt::format("{}/{}", folder, name));
}

std::string DocumentFiles::refusal_of_path(const std::string& path) const {
  if (!is_possible_path(path)) return std::string(no_possible_path);
  std::string normal = normal_path(path);
  while (normal.size() > 1 && normal.ends_with('/')) normal.pop_back(); // as a debugger does
  NamedBy named_by = NamedBy::target;
  for (const PathMap::Candidate& candidate : paths_->candidates(normal))
    if (candidate.path == normal) named_by = candidate.named_by();
  return refusal_to_lend(normal, named_by, max_size, remote_);
}

} // namespace clr
