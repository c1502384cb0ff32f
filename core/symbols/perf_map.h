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

struct PerfMap {
  // Addresses of the process. Of code that lay at the same place the last line is there. Names are as
  // written, with tiers.
  std::shared_ptr<const SymbolTable> symbols;
  std::size_t lines = 0;
  Malformed malformed;
  SymbolTableBuilder::Dropped dropped;

  // Classes of malformed lines. The runtime converts a name beyond ASCII while it writes the line, and takes
  // the number of characters for that of bytes: the end of the line is lost, so that the next one is glued to
  // it; or it is written as UTF-16, of which half is lost; or the start comes from memory that was freed
  // already.
  static constexpr std::string_view bad_address = "the address is not hexadecimal",
                                    bad_size = "the size is not hexadecimal",
                                    large_address = "the address has more than 64 bits",
                                    large_size = "the size is larger than any code",
                                    no_size = "there is no size", no_name = "there is no name",
                                    no_code = "the size is 0", past_end = "the code ends past all addresses",
                                    lost_start =
                                        "address and size are lost, overwritten by the runtime that wrote "
                                        "a name beyond ASCII",
                                    cut_name =
                                        "the end of a name beyond ASCII is lost; the entry is used, its "
                                        "name ends in an ellipsis",
                                    glued = "the line hangs on one before it that was cut; it is used",
                                    nul_line_end =
                                        "a NUL stands where the line should end; it and the next are used",
                                    no_line_end = "the last line has no end: its name may be cut";
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
