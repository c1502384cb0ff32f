// Writes perf maps and R2R perf maps in the form of the runtime and the compiler. Sources: dotnet/runtime
// src/coreclr/vm/perfmap.cpp, src/coreclr/tools/aot/ILCompiler.Diagnostics/PerfMapWriter.cs.
#pragma once

#include "core/symbols/r2r_perf_map.h"

#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace clr {

namespace symbols {

struct MapRow {
  std::uint64_t start = 0, size = 0; // address or RVA; bytes
  std::string name;                  // in the tool's notation; what is not printable (utf8.h) becomes '?'
};

// Takes the text in pieces. An exception that it throws ends the writing.
using TextSink = std::function<void(std::string_view)>;

} // namespace symbols

// Writes lines like "0x7f12a0 1c name", lower-case, in the order of the rows. Rows of size 0 or without a
// name are left out, because readers refuse them. Returns the number of lines.
std::size_t write_perf_map(const symbols::TextSink& sink, std::span<const symbols::MapRow> rows);

// Writes those records of the header that are known, then lines like "000108E0 01 name", upper-case, ended by
// LF. Returns the number of lines of code; rows are left out as above. Throws Error{invalid_argument} for a
// row that does not fit into 32 bits, before anything is written.
std::size_t write_r2r_perf_map(const symbols::TextSink& sink, const R2rPerfMapHeader& header,
                               std::span<const symbols::MapRow> rows);

} // namespace clr
