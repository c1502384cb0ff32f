// The signature that tells whether a perf map and a ReadyToRun image belong together.
// Source: dotnet/runtime docs/design/coreclr/botr/readytorun-format.md (additions to the debug directory),
// src/coreclr/tools/aot/ILCompiler.ReadyToRun/ObjectWriter/OutputInfoBuilder.cs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace clr {

using R2rSignature = std::array<std::byte, 16>; // in the order of its bytes; it is no GUID

// 32 upper-case hexadecimal digits, as in the map.
std::string digits_of(const R2rSignature& signature);
// Inverse of digits_of, for digits of either case; nothing for any other text.
std::optional<R2rSignature> parse_r2r_signature(std::string_view digits);

// The payload of the entry for a perf map in the debug directory.
struct R2rPerfMapId {
  static constexpr std::uint32_t debug_type = 21;        // of the entry
  static constexpr std::size_t max_file_name = 4096 - 1; // bytes

  R2rSignature signature{};
  std::uint32_t version = 0; // the version that the compiler was asked for; the map may have another one
  std::string file_name;     // name of the map, without folders
};

// Throws Error{corrupt}.
R2rPerfMapId parse_r2r_perf_map_id(std::span<const std::byte> payload);

struct R2rInputAssembly {
  std::string name;                 // simple name
  std::array<std::byte, 16> mvid{}; // as the metadata holds it
};

// Computes the signature of an image that is made of these assemblies, given in any order. For a composite
// image these are all its components.
R2rSignature compute_r2r_signature(std::vector<R2rInputAssembly> assemblies, std::uint32_t os,
                                   std::uint32_t architecture, std::uint32_t abi);

} // namespace clr
