#include "core/runtime/host_assemblies.h"

#include "core/memory/error.h"
#include "core/memory/host_file.h"

#include <span>

namespace clr {

namespace {
std::optional<std::vector<std::byte>> read_file(const PathMap::Candidate& candidate) {
  try {
    const std::string content =
        HostFile::open(candidate.path, candidate.named_by()).read(HostAssemblies::max_size);
    const auto bytes = std::as_bytes(std::span(content));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  } catch (const Error&) {
    return std::nullopt; // the next candidate may be readable; a name that no file gives stays a token
  }
}
} // namespace

std::optional<std::vector<std::byte>> HostAssemblies::open(const std::string& path,
                                                           const std::string& file_name) {
  for (const PathMap::Candidate& candidate : paths_.candidates(path.empty() ? file_name : path))
    if (auto bytes = read_file(candidate)) return bytes;
  return std::nullopt;
}

} // namespace clr
