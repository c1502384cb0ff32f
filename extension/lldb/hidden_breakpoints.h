// Breakpoints of the plugin's own, which lists do not show and which `breakpoint delete` and `disable`
// without numbers leave alone.
#pragma once

#include <lldb/API/LLDB.h>

namespace clr::lldb_plugin {

enum class Hidden : std::uint8_t {
  passing, // the process goes on behind it
  asked,   // a stop there is one that the user asked for, by a step
};
void hide(lldb::SBTarget& target, lldb::SBBreakpoint& breakpoint, Hidden kind = Hidden::passing);
// LLDB forgets that lists are not to show a breakpoint when it copies it from the dummy target.
void hide_copies(lldb::SBTarget& target);
bool is_hidden(lldb::SBBreakpoint& breakpoint);
bool is_passing(lldb::SBBreakpoint& breakpoint);

} // namespace clr::lldb_plugin
