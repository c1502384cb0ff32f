// The functions and source lines of an ELF file: its symbol tables, and its DWARF line table by libdw.
// Source: System V gABI, chapters 4 and 5; DWARF 5, section 6.2.
#pragma once

#include "core/symbols/symbol_table_builder.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace clr {

struct ElfSymbolSource {
  // Addresses as the linker gave them. The identity is the build id in lower-case hexadecimal, empty when the
  // file has none. Names as in the file, mangled. Where functions overlap, the inner one is found.
  std::shared_ptr<const SymbolTable> symbols;
  std::size_t functions = 0, lines = 0; // rows of the file that were used
  std::size_t bad_units = 0;            // units of debug information whose lines libdw cannot read
  std::string note;                     // what else was left out: sentences with "; " between; empty: nothing
  SymbolTableBuilder::Dropped dropped;
};

constexpr std::size_t max_elf_symbols = 1u << 22; // functions of one file; browsers have a million
// Bytes of the names of its functions: symbols can share one name's end, so that a small file can claim
// gigabytes.
constexpr std::size_t max_elf_names = 1u << 28;
constexpr std::size_t max_elf_line_rows = 1u << 23; // rows of its line tables
constexpr std::size_t max_elf_ranges = 1u << 23;    // ranges of code of all its units
constexpr std::size_t max_elf_files = 1u << 16;     // source files of a line table that are kept at once
// Bytes of its compressed debug information, expanded: 10 times as much as the runtime's.
constexpr std::uint64_t max_elf_expanded = std::uint64_t{1} << 29;

// Reads the executable or shared object at `path`; a file with nothing but debug information (.debug) is
// accepted too. Throws Error{io}; Error{corrupt} when it is no ELF file; Error{unsupported_contract} for a
// file that is not linked, Error{invalid_argument} for a file without any names, and Error{interrupted} when
// `stop`, which is asked now and then, returns true. Names beyond the limits are counted in `dropped`, and
// lines told in `note`. Cost: the bytes of the file; n log n of its functions.
ElfSymbolSource read_elf_symbols(const std::string& path, const std::function<bool()>& stop = {});
// The same of a file that was read; messages call it `path`.
ElfSymbolSource read_elf_symbols(std::span<const std::byte> bytes, const std::string& path,
                                 const std::function<bool()>& stop = {});

} // namespace clr
