#include "core/memory/path_map.h"

#include <algorithm>
#include <string_view>

namespace clr {
namespace {

std::string_view without_slash(std::string_view directory) {
  while (directory.ends_with('/')) directory.remove_suffix(1);
  return directory;
}

} // namespace

std::vector<PathMap::Candidate> PathMap::candidates(const std::string& target_path) const {
  if (!is_possible_path(target_path)) return {};
  const std::string path = target_path.starts_with('/') ? normal_path(target_path) : target_path;
  std::vector<Candidate> found;
  const auto add = [&](std::string candidate, bool by_user) {
    const bool known = std::any_of(found.begin(), found.end(),
                                   [&](const Candidate& other) { return other.path == candidate; });
    if (!known) found.push_back({std::move(candidate), by_user});
  };
  if (path.starts_with('/')) {
    // A sysroot of "/" does not say that the target may name files of the system; a prefix among them does.
    const bool of_system = is_system_path(path);
    auto sorted = prefixes;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
    for (const auto& [from, to] : sorted) {
      const std::string_view prefix = without_slash(from);
      if (!path.starts_with(prefix) || path.size() <= prefix.size() || path[prefix.size()] != '/') continue;
      add(std::string(without_slash(to)) + path.substr(prefix.size()),
          !of_system || is_system_path(std::string(prefix)));
    }
    if (!sysroot.empty()) add(std::string(without_slash(sysroot)) + path, !of_system);
    add(path, false);
  }
  const std::string name = path.substr(path.rfind('/') + 1);
  if (!name.empty())
    for (const std::string& directory : directories)
      add(std::string(without_slash(directory)) + '/' + name, true);
  return found;
}

} // namespace clr
