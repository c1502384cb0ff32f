#include "extension/lldb/hidden_breakpoints.h"

namespace clr::lldb_plugin {

namespace {
constexpr const char* passing_name = "lldb_clr";
constexpr const char* asked_name = "lldb_clr_step";
} // namespace

void hide(lldb::SBTarget& target, lldb::SBBreakpoint& breakpoint, Hidden kind) {
  const char* const hidden_name = kind == Hidden::passing ? passing_name : asked_name;
  lldb::SBBreakpointName name(target, hidden_name);
  if (name.IsValid()) {
    name.SetAllowList(false);
    name.SetAllowDelete(false);
    name.SetAllowDisable(false);
  }
  breakpoint.AddName(hidden_name);
}

void hide_copies(lldb::SBTarget& target) {
  for (std::uint32_t i = 0; i < target.GetNumBreakpoints(); ++i)
    if (lldb::SBBreakpoint copy = target.GetBreakpointAtIndex(i); is_passing(copy)) hide(target, copy);
}

bool is_hidden(lldb::SBBreakpoint& breakpoint) {
  return is_passing(breakpoint) || breakpoint.MatchesName(asked_name);
}

bool is_passing(lldb::SBBreakpoint& breakpoint) {
  return breakpoint.MatchesName(passing_name);
}

} // namespace clr::lldb_plugin
