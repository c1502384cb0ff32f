// Finds assemblies on this host, for modules whose metadata is not in target memory.
#pragma once

#include "core/memory/path_map.h"
#include "core/types/method_names.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace clr {

// The reader of the metadata decides by the MVID whether a file is the right one.
class HostAssemblies final : public AssemblyFiles {
public:
  // An assembly is read whole; a larger file cannot be an assembly.
  static constexpr std::uintmax_t max_size = std::uintmax_t{1} << 30;

  explicit HostAssemblies(PathMap paths) : paths_(std::move(paths)) {}
  // The first candidate of `path` that is a file. Cost: reads the file.
  std::optional<std::vector<std::byte>> open(const std::string& path, const std::string& file_name) override;

private:
  PathMap paths_;
};

} // namespace clr
