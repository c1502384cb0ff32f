// Conditions of breakpoints, which LLDB compiles once for each location and keeps.
#pragma once

#include <lldb/API/LLDB.h>

#include <cstdint>
#include <string>

namespace clr::lldb_plugin {

// When a module with types goes, LLDB (15 and later) forgets the types that a compiled condition yields, and
// stops the process at the next hit because the condition cannot be evaluated. By its text LLDB knows whether
// a condition is the one that was compiled: a text that means the same makes it compile anew.

// Places of a breakpoint whose own conditions are looked at.
constexpr std::uint32_t max_locations = 100;

// Has LLDB compile the conditions of all breakpoints again when they are looked at next. To be called when
// modules have gone. Of one breakpoint max_locations are looked at for conditions of their own. No effect
// where modules_stay().
void renew_conditions(lldb::SBTarget& target);

// True when no module may be taken away, as there are conditions and LLDB does not compile them again: 21 and
// 22 never do, whatever the text.
bool modules_stay(lldb::SBTarget& target);

// `condition` with other blanks at its end, which spell `number`.
std::string respelled(std::string condition, std::uint64_t number);

} // namespace clr::lldb_plugin
