// The names that people gave to what compilers keep in fields of other names. Pure functions.
// Source: dotnet/roslyn src/Compilers/CSharp/Portable/Symbols/Synthesized/GeneratedNames.cs; dotnet/fsharp
// src/Compiler/CodeGen/IlxGen.fs.
#pragma once

#include <string>
#include <string_view>

namespace clr {

// The property that only returns the field `name`: "Place" for "<Place>k__BackingField", also as C# writes
// the members of anonymous types and VB those of its ("$Place"), and for F#'s "Place@"; "" for other fields.
std::string property_of(std::string_view name);

// The property that only returns the field `name`; for other fields the name itself.
std::string source_name_of_field(const std::string& name);

// The same, and "i" for "<i>5__2", a variable that a compiler moved into a field; what the compiler alone
// has,
// "<>1__state", as it is.
std::string written_name(const std::string& name);

// The whole name that the source gives to a static field: "Ns.Type.Place" for "<Place>k__BackingField" of
// "Ns.Type", and "Ns.Module.value" for a value of F#'s that begins a file as `module Ns.Module`, which is
// "value@39" of "<StartupCode$app>.$Ns.Module"; "" for other fields.
std::string source_name_of_static(std::string_view type, std::string_view field);

// Whether the type "<>f__AnonymousType0<int>" or "VB$AnonymousType_0<int>" is one that has no name in the
// source.
bool is_anonymous(std::string_view type);

} // namespace clr
