// A synthetic runtime around a real ReadyToRun image: the image is laid out by its section headers; a Module
// and a ReadyToRunInfo point into it; a map of entry points holds the methods that the test registers. With
// it, the ReadyToRun manager reads the tables of every CPU that crossgen2 compiles for.
#pragma once

#include "core/metadata/pe_image.h"
#include "tests/support/execution_builder.h"

#include <filesystem>

namespace clr::test {

// One line of the map that crossgen2 writes (--perfmap): an RVA, bytes of code without cold parts, a name.
struct R2RMapEntry {
  std::uint32_t rva = 0, size = 0;
  std::string name;
};
std::vector<R2RMapEntry> read_r2r_map(const std::filesystem::path& path);

class R2RImageTarget final : private MemoryReader {
public:
  // Throws std::runtime_error for a file that is no ReadyToRun image of a CPU that is known.
  explicit R2RImageTarget(const std::filesystem::path& file);

  const Platform& platform() const { return builder_->memory().platform(); }
  Address base() const { return base_; }
  std::uint64_t size() const { return image_.size(); }
  // A section of the READYTORUN_HEADER: RVA and bytes, 0 if it has none.
  PeDirectory section(std::uint32_t type) const;
  // Makes the map of entry points: what the runtime has prepared so far.
  void register_methods(const std::vector<std::pair<std::uint32_t, Address>>& method_by_rva);

  MemoryReader& memory() { return *this; }
  Target target() { return Target(*this, builder_->types().contract_descriptor(), platform()); }

private:
  std::size_t read_some(Address address, std::span<std::byte> out) override;

  std::vector<std::byte> image_; // laid out
  Address base_ = 0, header_ = 0, info_ = 0;
  std::unique_ptr<ExecutionBuilder> builder_;
};

} // namespace clr::test
