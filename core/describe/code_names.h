// The names of a method for a debugger: the one that frames show, and those that breakpoints may use.
#pragma once

#include "core/describe/described_code.h"
#include "core/types/method.h"

namespace clr {

// All names of code that somebody debugs. full_name is Method::shown_name(), the text of clrbt. The aliases
// are the same without parameters, without the namespace, and as metadata spells it; a method that a compiler
// made (Method::user) has those of its own name too. No reads.
DebugNames all_names(const Method& method);
// Of a method that only starts a state machine: full_name alone. Its other names mean the MoveNext, where the
// lines are that somebody wrote. No reads.
DebugNames kickoff_names(const Method& method);

// A framework's fifty thousand methods have few names, because a debugger takes time for every name whenever
// it looks for one: "Ns.Type.Run" and "Type.Run" beside full_name, string.Concat(string) also
// "string.Concat". No reads.
DebugNames few_names(const QualifiedMethodName& method);
// Gives `code` these names. They are made later where they can be: see UnspelledName. A method without
// `qualified`, or with `user`, has its names at once. No reads.
void set_few_names(DescribedCode& code, const UnspelledMethod& method);

} // namespace clr
