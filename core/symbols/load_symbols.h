// A file of symbols of any kind, recognised by its content, as a table.
#pragma once

#include "core/symbols/malformed.h"
#include "core/symbols/r2r_perf_map.h"
#include "core/symbols/symbol_table_builder.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace clr {

enum class SymbolFileKind : std::uint8_t { unknown, sym, r2r_perf_map, perf_map, jitdump, nettrace, elf };

// "R2R perf map", "jitdump", ...
std::string_view to_string(SymbolFileKind kind);

constexpr std::size_t symbol_file_prefix = 8192; // bytes that suffice

// What a file is that begins so. Names and extensions decide nothing.
SymbolFileKind symbol_file_kind(std::span<const std::byte> prefix);

struct LoadedSymbols {
  SymbolFileKind kind = SymbolFileKind::unknown;
  std::shared_ptr<const SymbolTable> symbols;
  Malformed malformed;                 // lines or records that were not used, by class
  SymbolTableBuilder::Dropped dropped; // what was read and is not in the table
  std::string note;                    // a sentence on the file as a whole; empty when it is sound
};

// Throws Error{io}; Error{corrupt}, Error{unsupported_contract} as the reader of the kind does, and the
// latter for files of no known kind. Traces are no table: their names hold for a time only.
LoadedSymbols load_symbols(const std::string& path);

} // namespace clr
