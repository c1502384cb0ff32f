// perf-PID.map files: what a runtime writes of the code it makes, for perf. Any JIT's file is read; what the
// .NET runtime's own have besides is known here: tiers, stubs, and the lines that it damages.
// Source: Linux tools/perf/Documentation/jit-interface.txt; dotnet/runtime src/coreclr/vm/perfmap.cpp.
#pragma once

#include "core/symbols/malformed.h"
#include "core/symbols/symbol_table_builder.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace clr {

// The faults of a line of a perf map. A line with one is counted, and the rest of the file is used. Most come
// from names beyond ASCII: the runtime takes their characters for bytes, so it loses the end of the line, and
// the next line is glued to this one (cut_name, glued); or it writes UTF-16 and loses half of that
// (nul_line_end); or the line's start comes from memory that was freed already (lost_start).
enum class PerfMapFault : std::uint8_t {
  bad_address,
  bad_size,
  large_address,
  large_size,
  no_size,
  no_name,
  no_code,
  past_end,
  lost_start,
  cut_name,
  glued,
  nul_line_end,
  no_line_end,
};
// A fixed text: "the address is not hexadecimal".
std::string_view to_string(PerfMapFault kind);

struct PerfMap {
  // Addresses of the process. Of code that lay at the same place the last line is there. Names are as
  // written, with tiers.
  std::shared_ptr<const SymbolTable> symbols;
  std::size_t lines = 0;
  Malformed malformed;
  SymbolTableBuilder::Dropped dropped;

  using enum PerfMapFault;
};

// `name` of the file stands in made_from(); `process`, its PID if known, in identity(). Never throws for what
// the text holds: that is counted in `malformed`, and the rest is used.
PerfMap read_perf_map(std::span<const std::byte> text, const std::string& name,
                      const std::string& process = {});

// A name as the .NET runtime writes it, taken apart.
struct PerfMapName {
  std::string_view method; // the signature, or of a stub TYPE<OWNER>
  std::string_view tier;   // "QuickJitted", "OptimizedTier1", "PreJIT", ...; empty when none is given
  bool stub = false;
};
PerfMapName parse_perf_map_name(std::string_view name);

// "1234" of ".../perf-1234.map" and ".../jit-1234.dump"; empty for other names.
std::string process_of_file_name(std::string_view path);

} // namespace clr
