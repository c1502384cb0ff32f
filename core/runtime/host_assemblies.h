// Assemblies on this host, for modules whose metadata is not in target memory.
#pragma once

#include "core/memory/path_map.h"
#include "core/types/method_names.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace clr {

// Which file is the right one, the reader of metadata decides by its MVID.
class HostAssemblies final : public AssemblyFiles {
public:
  // An assembly is read whole; a file larger than this is none.
  static constexpr std::uintmax_t max_size = std::uintmax_t{1} << 30;

  explicit HostAssemblies(PathMap paths) : paths_(std::move(paths)) {}
  // The first candidate of `path` that is a file. Cost: reads the file.
  std::optional<std::vector<std::byte>> open(const std::string& path, const std::string& file_name) override;

private:
  PathMap paths_;
};

} // namespace clr
