// The outermost structure of a ReadyToRun image: its header and the places of its parts. Source:
// dotnet/runtime docs/design/coreclr/botr/readytorun-format.md.
#pragma once

#include "core/memory/byte_range.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace clr {

// Types of sections of a READYTORUN_HEADER.
enum class R2RSection : std::uint32_t {
  compiler_identifier = 100,
  import_sections = 101,
  runtime_functions = 102,
  method_def_entry_points = 103,
  exception_info = 104,
  debug_info = 105,
  delay_load_method_call_thunks = 106,
  available_types = 108,
  instance_entry_points = 109,
  inlining_info = 110,
  profile_data_info = 111,
  manifest_metadata = 112,
  attribute_presence = 113,
  inlining_info2 = 114,
  component_assemblies = 115,
  owner_composite_executable = 116,
  hot_cold_map = 120,
  method_is_generic_map = 121,
  enclosing_type_map = 122,
};

// A READYTORUN_HEADER, or the READYTORUN_CORE_HEADER of a component of a composite image.
struct R2RHeader {
  std::uint16_t major = 0, minor = 0; // 0 for a component's core header
  std::uint32_t flags = 0;
  struct Section {
    R2RSection type;
    std::uint32_t rva = 0, size = 0;
  };
  std::vector<Section> sections;

  static constexpr std::uint32_t max_sections = 256;
  static constexpr std::uint32_t component = 0x20, unrelated_code = 0x80; // flags

  std::optional<Section> find(R2RSection type) const;
};

// The bytes of an image by RVA: either the laid-out image in target memory, or a file.
class R2RImageBytes {
public:
  virtual ~R2RImageBytes() = default;
  // The bytes [rva, rva + size). Throws Error when the image lacks them.
  virtual ByteRange range(std::uint32_t rva, std::uint32_t size) = 0;
};
// An image that is mapped at `base`: an RVA means base + rva.
class MappedR2RImage final : public R2RImageBytes {
public:
  // `memory` must outlive this.
  MappedR2RImage(MemoryReader& memory, Address base) : memory_(memory), base_(base) {}
  ByteRange range(std::uint32_t rva, std::uint32_t size) override { return {memory_, base_ + rva, size}; }

private:
  MemoryReader& memory_;
  Address base_;
};

// Reads the header at `rva`. Throws Error{corrupt} for another magic or too many sections. Cost: 2 reads.
R2RHeader read_r2r_header(R2RImageBytes& image, std::uint32_t rva);
// Reads the core header of a component of a composite image: flags, then the sections. Errors and cost as
// above.
R2RHeader read_r2r_core_header(R2RImageBytes& image, std::uint32_t rva);

} // namespace clr
