// Properties that every table must have that a reader makes, whatever the input.
#pragma once

#include "core/symbols/symbol_table.h"

#include <cstdlib>

namespace clr::fuzz {

inline void check(const SymbolTable& table) {
  std::uint64_t end = 0;
  std::size_t index = 0;
  for (const symbols::Symbol& symbol : table) {
    const bool sound = symbol.address >= end && symbol.size != 0 && symbol.function_start <= symbol.address &&
                       (!symbol.function.empty() || !symbol.file.empty()) &&
                       table.index_of(symbol.address) == index &&
                       table.index_of(symbol.address + symbol.size - 1) == index;
    if (!sound) std::abort();
    end = symbol.address + symbol.size;
    ++index;
  }
}

} // namespace clr::fuzz
