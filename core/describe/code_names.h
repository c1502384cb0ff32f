// What a debugger is to call a method: the name that frames show, and those that breakpoints may use.
#pragma once

#include "core/dwarf/debug_module.h"
#include "core/types/method.h"

#include <cstdint>

namespace clr {

// Sets name, full_name, aliases and unit of `code`. full_name is Method::shown_name(), the text of clrbt. The
// aliases are the same without parameters, without the namespace, and as metadata spells it; of a method that
// a compiler made (Method::user) also those of its own name. No reads.
enum class NameForms : std::uint8_t {
  all,
  // "Ns.Type.Run" and "Type.Run" beside full_name, of string.Concat(string) also "string.Concat": of a
  // framework's fifty thousand methods every further name costs time whenever a debugger looks for one.
  few,
};
// Of a method that is not yet spelled the few forms are left to spell_names().
void set_names(DebugCode& code, const Method& method, NameForms forms = NameForms::all);

// Makes the names that were left. For any thread: what they are made of is not changed, and not let go, since
// it shares parts, and so their counts, with what another thread may be describing.
void spell_names(DebugModule& module);

} // namespace clr
