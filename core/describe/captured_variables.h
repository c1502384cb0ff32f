// Finds variables that a compiler moved into an object: those of lambdas and local functions into a closure,
// those of iterators and async methods into the state machine. Each comes with the name that the user gave it
// and its place in that object. Source: dotnet/roslyn
// src/Compilers/CSharp/Portable/Symbols/Synthesized/GeneratedNames.cs and
// src/Compilers/VisualBasic/Portable/Symbols/SynthesizedSymbols/GeneratedNames.vb.
#pragma once

#include "core/describe/omissions.h"
#include "core/objects/type_layout.h"

#include <optional>
#include <string>
#include <vector>

namespace clr {

struct CapturedVariable {
  std::string name; // "this" for the object whose method the user wrote
  TypeUsePtr type;  // never null
  // From the pointer to the outermost object on: see DebugVariableRange::path. Of a closure that is a value:
  // from its first byte on.
  std::vector<std::uint32_t> path;
  std::optional<std::uint32_t> hoisted_scope; // which of PortablePdb::hoisted_scopes
};

// A class or structure of a compiler's that holds variables.
bool is_closure(const TypeName& type);       // "<>c__DisplayClass0_0"
bool is_state_machine(const TypeName& type); // "<Run>d__4"
// A local variable that is or points to a closure: "CS$<>8__locals0".
bool is_closure_local(const std::string& name);

// The variables within an object (or value) of `type`; objects are followed to the closures around it. A
// closure that cannot be read is left out and told in `omissions`; no Error leaves. Not more than `fields`
// are looked at, all closures together; those that were are taken off. Cost: that of TypeLayouts::of for each
// closure.
std::vector<CapturedVariable> captured_variables(TypeLayouts& layouts, const TypeUse& type,
                                                 Omissions& omissions, std::size_t& fields);

constexpr unsigned max_closure_depth = 16;
constexpr std::size_t max_captured = 4'096;

} // namespace clr
