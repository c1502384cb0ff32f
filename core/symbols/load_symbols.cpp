#include "core/symbols/load_symbols.h"

#include "core/memory/count_text.h"
#include "core/memory/error.h"
#include "core/memory/loaded_file.h"
#include "core/symbols/elf_symbol_source.h"
#include "core/symbols/jit_dump.h"
#include "core/symbols/map_lines.h"
#include "core/symbols/perf_map.h"

#include <algorithm>
#include <fmt/format.h>

namespace clr {
namespace {

constexpr std::size_t looked_at = 64; // lines that are examined

// Digits in the form that the compiler writes: upper-case, padded with zeroes.
bool is_padded_upper(std::string_view digits, std::size_t least, std::size_t most) {
  return digits.size() >= least && digits.size() <= most &&
         std::ranges::all_of(digits, [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F'); });
}

// Recognises lines of START SIZE NAME. The runtime's own files contain damaged lines too, so not all need be
// good; but prose has many other lines.
SymbolFileKind text_kind(std::span<const std::byte> prefix) {
  MapLines lines(prefix);
  std::size_t seen = 0, good = 0, like_r2r = 0;
  while (seen < looked_at) {
    auto line = lines.next();
    // The last line is cut off at the end of the prefix.
    if (!line || (lines.unfinished() && seen != 0)) break;
    ++seen;
    const std::string_view start = take_field(*line), size = take_field(*line);
    const HexNumber address = parse_hex(start, 64), bytes = parse_hex(size, 64);
    if (address.fault != HexFault::none || bytes.fault != HexFault::none || line->empty()) continue;
    ++good;
    if (!is_padded_upper(start, 8, 8) || !is_padded_upper(size, 2, 8)) continue;
    ++like_r2r;
    if (address.value >= first_r2r_header_token && bytes.value == 0) return SymbolFileKind::r2r_perf_map;
  }
  if (good == 0 || 2 * good < seen) return SymbolFileKind::unknown;
  return like_r2r == good ? SymbolFileKind::r2r_perf_map : SymbolFileKind::perf_map;
}

} // namespace

std::string_view to_string(SymbolFileKind kind) {
  switch (kind) {
  case SymbolFileKind::sym:
    return ".sym file";
  case SymbolFileKind::r2r_perf_map:
    return "R2R perf map";
  case SymbolFileKind::perf_map:
    return "perf map";
  case SymbolFileKind::jitdump:
    return "jitdump";
  case SymbolFileKind::nettrace:
    return "nettrace";
  case SymbolFileKind::elf:
    return "ELF file";
  case SymbolFileKind::unknown:
    break;
  }
  return "unknown";
}

SymbolFileKind symbol_file_kind(std::span<const std::byte> prefix) {
  const std::string_view text = as_text(prefix);
  if (text.starts_with(symbol_file_magic)) return SymbolFileKind::sym;
  if (text.starts_with("Nettrace")) return SymbolFileKind::nettrace;
  if (text.starts_with("\x7f"
                       "ELF"))
    return SymbolFileKind::elf;
  if (text.starts_with("DTiJ") || text.starts_with("JiTD")) return SymbolFileKind::jitdump;
  return text_kind(prefix.first(std::min(prefix.size(), symbol_file_prefix)));
}

LoadedSymbols load_symbols(const std::string& path, const std::function<bool()>& stop) {
  LoadedSymbols loaded;
  const LoadedFile file = LoadedFile::open(path);
  loaded.kind = symbol_file_kind(file.bytes());
  // Moves the members that the results of all readers have.
  const auto take = [&](auto read) {
    loaded.symbols = std::move(read.symbols);
    loaded.malformed = std::move(read.malformed);
    loaded.dropped = read.dropped;
  };
  switch (loaded.kind) {
  case SymbolFileKind::sym:
    loaded.symbols = SymbolTable::open(path);
    break;
  case SymbolFileKind::r2r_perf_map: {
    R2rPerfMap map = read_r2r_perf_map(file.bytes(), path);
    take(std::move(map));
    break;
  }
  case SymbolFileKind::perf_map:
    take(read_perf_map(file.bytes(), path, process_of_file_name(path)));
    break;
  case SymbolFileKind::jitdump: {
    JitDump dump = read_jit_dump(file.bytes(), path);
    loaded.note = dump.stopped;
    take(std::move(dump));
    break;
  }
  case SymbolFileKind::elf: {
    ElfSymbolSource source = read_elf_symbols(file.bytes(), path, stop);
    loaded.symbols = std::move(source.symbols);
    loaded.dropped = source.dropped;
    loaded.note = std::move(source.note);
    if (source.bad_units != 0)
      loaded.note += fmt::format("{}the lines of {} of its debug information cannot be read",
                                 loaded.note.empty() ? "" : "; ", count_text(source.bad_units, "unit"));
    break;
  }
  case SymbolFileKind::nettrace:
    throw Error(
        ErrorKind::unsupported_contract,
        fmt::format("{} is a trace: its names hold for a time only, which a symbol table has not", path));
  case SymbolFileKind::unknown:
    throw Error(
        ErrorKind::unsupported_contract,
        fmt::format("{} is no file of symbols: neither .sym, R2R perf map, perf map, jitdump nor ELF file",
                    path));
  }
  return loaded;
}

} // namespace clr
