// perf-PID.map files: a runtime lists there the code that it makes, for perf. The files of any JIT can be
// read. Peculiarities of the .NET runtime's files are known here: tiers, stubs, and the lines that it
// damages.
// Source: Linux tools/perf/Documentation/jit-interface.txt; dotnet/runtime src/coreclr/vm/perfmap.cpp.
#pragma once

#include "core/symbols/malformed.h"
#include "core/symbols/symbol_table_builder.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace clr {

// The faults of a line of a perf map. A faulty line is counted, and the rest of the file is used. Most faults
// come from names with non-ASCII characters. The runtime counts characters as bytes, so it loses the end of
// the line, and the next line is glued to this one (cut_name, glued). Or it writes UTF-16 and loses half of
// it (nul_line_end). Or the start of the line comes from memory that was already freed (lost_start).
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
// A fixed text, for instance "the address is not hexadecimal".
std::string_view to_string(PerfMapFault kind);

struct PerfMap {
  // Addresses of the process. Where code took the place of older code, the table has the last line. Names as
  // in the file, with tiers.
  std::shared_ptr<const SymbolTable> symbols;
  std::size_t lines = 0;
  symbols::Malformed malformed;
  SymbolTableBuilder::Dropped dropped;

  using enum PerfMapFault;
};

// `name` is the name of the file for made_from(); `process` is its PID, if known, for identity(). Never
// throws because of the text: faults are counted in `malformed`, and the rest is used.
PerfMap read_perf_map(std::span<const std::byte> text, const std::string& name,
                      const std::string& process = {});

// The parts of a name that the .NET runtime wrote.
struct PerfMapName {
  std::string_view method; // the signature; for a stub TYPE<OWNER>
  std::string_view tier;   // "QuickJitted", "OptimizedTier1", "PreJIT", ...; empty when there is none
  bool stub = false;
};
PerfMapName parse_perf_map_name(std::string_view name);

// "1234" for ".../perf-1234.map" and ".../jit-1234.dump"; empty for other names.
std::string process_of_file_name(std::string_view path);

} // namespace clr
