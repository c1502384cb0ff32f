// Reads a file of symbols of any kind into a table; the kind is recognised by the content.
#pragma once

#include "core/symbols/malformed.h"
#include "core/symbols/r2r_perf_map.h"
#include "core/symbols/symbol_table_builder.h"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace clr {

enum class SymbolFileKind : std::uint8_t { unknown, sym, r2r_perf_map, perf_map, jitdump, nettrace, elf };

// "R2R perf map", "jitdump", ...
std::string_view to_string(SymbolFileKind kind);

constexpr std::size_t symbol_file_prefix = 8192; // bytes that are enough to recognise a file

// The kind of a file that begins with these bytes. Names and extensions do not matter.
SymbolFileKind symbol_file_kind(std::span<const std::byte> prefix);

struct LoadedSymbols {
  SymbolFileKind kind = SymbolFileKind::unknown;
  std::shared_ptr<const SymbolTable> symbols;
  symbols::Malformed malformed;        // lines or records that were not used, by kind of fault
  SymbolTableBuilder::Dropped dropped; // entries that were read but are not in the table
  std::string note;                    // on the file as a whole; empty when it is sound
};

// Throws Error{io}, and Error{corrupt} and Error{unsupported_contract} like the reader of the kind;
// Error{unsupported_contract} also for files of unknown kind. Traces cannot be read as a table, because a
// name in a trace is valid only for a span of time. `stop` is asked now and then while an ELF file is read;
// true stops with Error{interrupted}.
LoadedSymbols load_symbols(const std::string& path, const std::function<bool()>& stop = {});

} // namespace clr
