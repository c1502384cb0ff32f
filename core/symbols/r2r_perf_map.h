// R2R perf maps version 1 (NAME.ni.r2rmap): the compiler's list of the methods in a ReadyToRun image.
// Source: dotnet/runtime docs/design/coreclr/botr/r2r-perfmap-format.md, and what the tools really write,
// src/coreclr/tools/aot/ILCompiler.Diagnostics/PerfMapWriter.cs: lengths of 32 bits, all values as text.
#pragma once

#include "core/symbols/malformed.h"
#include "core/symbols/r2r_perf_map_id.h"
#include "core/symbols/symbol_table_builder.h"

#include <memory>
#include <optional>
#include <span>
#include <string>

namespace clr {

// Values of the header's records, kept as numbers: a map of a system that is new has a new one.
enum class PerfMapOs : std::uint32_t { unknown, windows, linux_, osx, freebsd, netbsd, sunos, haiku };
enum class PerfMapArchitecture : std::uint32_t { unknown, arm, arm64, x64, x86, riscv64, loongarch64 };
enum class PerfMapAbi : std::uint32_t { unknown, default_, armel };

// The tools' own names ("Linux", "X64", "Default"); the number for values that have none.
std::string to_string(PerfMapOs os);
std::string to_string(PerfMapArchitecture architecture);
std::string to_string(PerfMapAbi abi);

// Records at this "address" and above are the header's.
constexpr std::uint64_t first_r2r_header_token = 0xFFFF'FFF0;

struct R2rPerfMapHeader {
  std::optional<R2rSignature> signature;
  std::optional<std::uint32_t> version;
  std::optional<PerfMapOs> os;
  std::optional<PerfMapArchitecture> architecture;
  std::optional<PerfMapAbi> abi;
};

struct R2rPerfMap {
  R2rPerfMapHeader header; // an old or edited map may lack any of it
  // Addresses are RVAs of the image, of the composite image where that is what was compiled. One method may
  // have several entries. Its identity is the signature, upper-case hexadecimal.
  std::shared_ptr<const SymbolTable> symbols;
  std::size_t records = 0; // lines that name code, usable or not
  Malformed malformed;     // places are lines
  SymbolTableBuilder::Dropped dropped;

  // Classes of malformed lines.
  static constexpr std::string_view bad_address = "the address is not hexadecimal",
                                    bad_length = "the length is not hexadecimal",
                                    large_address = "the address has more than 32 bits",
                                    large_length = "the length has more than 32 bits",
                                    no_length = "there is no length", no_name = "there is no name",
                                    no_code = "the length is 0", past_end = "the code ends past 4 GiB",
                                    bad_header = "the value of a header record makes no sense",
                                    repeated_header = "a header record comes twice, with two values",
                                    no_line_end = "the last line has no end: its name may be cut";
};

// Unknown header records (addresses of 0xFFFFFFF0 and above) are ignored. `name` of the map stands in
// messages and in made_from(). Throws Error{unsupported_contract} for the form that preceded version 1 and
// for later versions; anything else that is wrong is counted in `malformed`, and the rest is used.
R2rPerfMap read_r2r_perf_map(std::span<const std::byte> text, const std::string& name);

} // namespace clr
