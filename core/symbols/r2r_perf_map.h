// R2R perf maps version 1 (NAME.ni.r2rmap): the compiler's list of the methods in a ReadyToRun image. Source:
// dotnet/runtime docs/design/coreclr/botr/r2r-perfmap-format.md. The tools differ from it:
// src/coreclr/tools/aot/ILCompiler.Diagnostics/PerfMapWriter.cs writes lengths of 32 bits and all values as
// text.
#pragma once

#include "core/symbols/malformed.h"
#include "core/symbols/r2r_perf_map_id.h"
#include "core/symbols/symbol_table_builder.h"

#include <memory>
#include <optional>
#include <span>
#include <string>

namespace clr {

// Values of the header's records, kept as numbers: the map of a new operating system has a value that is not
// listed here.
enum class PerfMapOs : std::uint32_t { unknown, windows, linux_, osx, freebsd, netbsd, sunos, haiku };
enum class PerfMapArchitecture : std::uint32_t { unknown, arm, arm64, x64, x86, riscv64, loongarch64 };
enum class PerfMapAbi : std::uint32_t { unknown, default_, armel };

// The names that the tools use ("Linux", "X64", "Default"); the number for a value without a name.
std::string to_string(PerfMapOs os);
std::string to_string(PerfMapArchitecture architecture);
std::string to_string(PerfMapAbi abi);

// Records with this "address" and above belong to the header.
constexpr std::uint64_t first_r2r_header_token = 0xFFFF'FFF0;

struct R2rPerfMapHeader {
  std::optional<R2rSignature> signature;
  std::optional<std::uint32_t> version;
  std::optional<PerfMapOs> os;
  std::optional<PerfMapArchitecture> architecture;
  std::optional<PerfMapAbi> abi;
};

// The faults of a line of an R2R perf map. A faulty line is counted, and the rest of the file is used.
enum class R2rPerfMapFault : std::uint8_t {
  bad_address,
  bad_length,
  large_address,
  large_length,
  no_length,
  no_name,
  no_code,
  past_end,
  bad_header,
  repeated_header,
  no_line_end,
};
// A fixed text, for instance "the address is not hexadecimal".
std::string_view to_string(R2rPerfMapFault kind);

struct R2rPerfMap {
  R2rPerfMapHeader header; // an old or edited map may lack any part of it
  // Addresses are RVAs of the image that was compiled, which may be a composite image. One method may have
  // several entries. The identity is the signature in upper-case hexadecimal.
  std::shared_ptr<const SymbolTable> symbols;
  std::size_t records = 0;      // lines that name code, usable or not
  symbols::Malformed malformed; // places are line numbers
  SymbolTableBuilder::Dropped dropped;

  using enum R2rPerfMapFault;
};

// Unknown header records (addresses of 0xFFFFFFF0 and above) are ignored. `name` is the name of the map for
// messages and made_from(). Throws Error{unsupported_contract} for the form before version 1 and for later
// versions. Anything else that is wrong is counted in `malformed`, and the rest is used.
R2rPerfMap read_r2r_perf_map(std::span<const std::byte> text, const std::string& name);

} // namespace clr
