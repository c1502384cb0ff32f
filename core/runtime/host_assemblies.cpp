#include "core/runtime/host_assemblies.h"

#include <filesystem>
#include <fstream>

namespace clr {

namespace {
std::optional<std::vector<std::byte>> read_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error || size > HostAssemblies::max_size) return std::nullopt;
  std::ifstream in(path, std::ios::binary);
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  if (!in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size)))
    return std::nullopt;
  return bytes;
}
} // namespace

std::optional<std::vector<std::byte>> HostAssemblies::open(const std::string& path,
                                                           const std::string& file_name) {
  for (const PathMap::Candidate& candidate : paths_.candidates(path.empty() ? file_name : path))
    if (auto bytes = read_file(candidate.path)) return bytes;
  return std::nullopt;
}

} // namespace clr
