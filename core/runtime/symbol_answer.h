// Answers from symbol files, where runtime memory gives none.
#pragma once

#include "core/runtime/added_symbols.h"
#include "core/runtime/answer.h"

#include <optional>
#include <string>

namespace clr {

// What the notation of a perf map tells of a method: "instance void [app] Ns.Outer+Inner::Run(int32)" or
// "void Ns.Outer+Inner::Run(System.Int32)".
struct MapMethodName {
  std::string assembly;  // "app"; empty when the name does not say
  std::string name;      // "Ns.Outer+Inner.Run"
  std::string full_name; // "Ns.Outer+Inner.Run(int32)": parameters as the map spells them
};
// Nothing for a name that is not a method's (stubs, other runtimes, native code).
std::optional<MapMethodName> parse_map_method(std::string_view text);

// Replaces what runtime memory could not tell: a method without a name gets one, an address of which nothing
// is known or that could not be read becomes the method or symbol that a file names. The answer says which
// file it comes from. Everything else stays.
void name_by_symbols(Answer& answer, const AddedSymbols& symbols);

// "function + 12 (by perf-123.map)", for native frames; empty when no file names the address.
std::string symbol_text(const AddedSymbols& symbols, Address address);

} // namespace clr
