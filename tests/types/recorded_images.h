// The real assemblies in tests/metadata/data: names.dll and its ReadyToRun images.
#pragma once

#include "core/metadata/pe_image.h"
#include "core/types/r2r_methods.h"
#include "tests/support/metadata_builder.h"

#include <catch2/catch.hpp>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace clr::test {

inline std::string recorded_path(const std::string& name) {
  return std::string(CLR_TEST_DATA) + "/metadata/data/" + name;
}

inline Bytes recorded_image(const std::string& name) {
  std::ifstream file(recorded_path(name), std::ios::binary);
  const std::vector<char> content((std::istreambuf_iterator<char>(file)), {});
  REQUIRE(!content.empty());
  Bytes bytes(content.size());
  std::memcpy(bytes.data(), content.data(), content.size());
  return bytes;
}

// An assembly as a file; knows itself as the only one.
struct RecordedAssembly final : AssemblyMetadata {
  explicit RecordedAssembly(const std::string& name)
      : bytes(recorded_image(name)), memory(bytes), pe(memory, 0, false),
        metadata(pe.range_of(pe.metadata())), names(metadata) {}
  MetadataNames* by_simple_name(const std::string& name) override {
    return name == "names" ? &names : nullptr;
  }

  Bytes bytes;
  HostMemory memory;
  PeImage pe;
  Metadata metadata;
  MetadataNames names;
};

inline std::uint32_t r2r_header_of(const PeImage& pe) {
  return pe.managed_native_header().rva != 0 ? pe.managed_native_header().rva
                                             : pe.find_export("RTR_HEADER").value();
}

} // namespace clr::test
