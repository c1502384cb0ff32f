// The methods of a ReadyToRun image in the form of a perf map: from a mapped image or a file, whether they
// ran or not, for any CPU. Source: dotnet/runtime docs/design/coreclr/botr/r2r-perfmap-format.md and
// readytorun-format.md; src/coreclr/tools/aot/ILCompiler.Diagnostics/PerfMapWriter.cs.
#pragma once

#include "core/memory/platform.h"
#include "core/metadata/pe_image.h"
#include "core/symbols/map_writers.h"
#include "core/types/r2r_methods.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace clr {

struct R2RMethodMap {
  // From the image's debug directory, else computed as the tools compute it.
  R2rPerfMapHeader header;
  // In the order of their RVAs. Sizes are bytes of code: they include funclets, but not constants behind the
  // code. A cold part is a separate row. Names have the form of the compiler's own maps.
  std::vector<symbols::MapRow> rows;
  // The parts that are missing in the map, one sentence for each kind of reason.
  std::vector<std::string> problems;
};

// Lists all methods of `image`, which must be mapped (laid out by its sections). `others` gives the metadata
// of other assemblies and may be null. Throws Error{corrupt} when it is no ReadyToRun image,
// Error{unsupported_contract} for an unknown CPU. Cost: about 6 reads for each method.
R2RMethodMap map_methods(const PeImage& image, AssemblyMetadata* others);

// The system that an image was compiled for, by the machine number in its header; nothing for an unknown
// number.
struct ImageSystem {
  Platform platform;
  PerfMapOs os = PerfMapOs::unknown;
  PerfMapArchitecture architecture = PerfMapArchitecture::unknown;
};
std::optional<ImageSystem> system_of_image(std::uint16_t machine);

// A file that is laid out as a loader would do it, but without relocations. Throws Error{io}, Error{corrupt}.
class LaidOutImage {
public:
  explicit LaidOutImage(const std::string& path);
  const PeImage& image() const { return *image_; }

  static constexpr std::uint32_t max_size = 1u << 30; // bytes
  // The header of a file of a kilobyte may claim an image of any size. Alignment and data that begins as
  // zeros make an image larger than its file, but not without end.
  static constexpr std::uint64_t max_growth = 8, max_padding = 64u << 20; // times the file, and bytes

private:
  std::vector<std::byte> bytes_;
  std::unique_ptr<HostMemory> memory_;
  std::optional<PeImage> image_;
};

// The assemblies in some folders. They give the names of types that other assemblies define.
class AssemblyFolders final : public AssemblyMetadata {
public:
  explicit AssemblyFolders(std::vector<std::string> folders);
  ~AssemblyFolders() override;
  // The names of FOLDER/NAME.dll from the first folder that contains it; null when none can be read.
  MetadataNames* by_simple_name(const std::string& simple_name) override;

private:
  struct Assembly;
  std::vector<std::string> folders_;
  std::map<std::string, std::unique_ptr<Assembly>> assemblies_;
};

} // namespace clr
