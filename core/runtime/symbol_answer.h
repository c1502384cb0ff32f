// Answers from symbol files, where runtime memory gives none.
#pragma once

#include "core/runtime/added_symbols.h"
#include "core/runtime/answer.h"

#include <optional>
#include <string>

namespace clr {

// Completes an answer: a method without a name gets one; an address about which nothing is known, or that
// could not be read, becomes the method or symbol that a file names. The answer says which file the name
// comes from. Everything else stays unchanged.
void name_by_symbols(runtime::Answer& answer, const AddedSymbols& symbols);

// "function + 12 (by perf-123.map)", for native frames; empty when no file names the address.
std::string symbol_text(const AddedSymbols& symbols, Address address);

} // namespace clr
