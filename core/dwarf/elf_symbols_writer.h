// The symbol table of a module of managed code.
#pragma once

#include "core/dwarf/placed_code.h"
#include "core/dwarf/string_section.h"

#include <elf.h>

namespace clr {

struct CodeSymbols {
  std::vector<Elf64_Sym> symbols; // the first is the null symbol; all are global
  StringSection names;
};

// Each function with lines or variables has a symbol of its full name first, then one of every name that
// breakpoints may use. Code that is no function has one symbol, of type STT_OBJECT, because breakpoints,
// those by regular expression too, look for code only. Bare functions have none (dwarf_bare_units).
// `first_section`: the number of the first code section.
CodeSymbols write_symbols(const PlacedModule& placed, std::uint32_t first_section);

} // namespace clr
