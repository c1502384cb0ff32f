// Finds assemblies on this host, for modules whose metadata is not in target memory.
#pragma once

#include "core/memory/path_map.h"
#include "core/types/method_names.h"

#include <memory>
#include <string>
#include <utility>

namespace clr {

// The reader of the metadata decides by the MVID whether a file is the right one.
class HostAssemblies final : public AssemblyFiles {
public:
  explicit HostAssemblies(PathMap paths, std::shared_ptr<ByteRoom> whole = nullptr)
      : AssemblyFiles(std::move(whole)), paths_(std::move(paths)) {}
  // The first candidate of `path` that is a file. It is read as far as it is asked for.
  std::unique_ptr<MemoryReader> open(const std::string& path, const std::string& file_name) override;

private:
  PathMap paths_;
};

} // namespace clr
