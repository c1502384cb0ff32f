#include "extension/lldb/step_end.h"

#include "extension/lldb/own_command.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <string_view>

namespace clr::lldb_plugin {

// Plan 0 is the base plan. A plan that a command still waits for lives on, with its breakpoint
// in the line that it stepped over: nobody would handle a hit of that.
void end_steps(lldb::SBThread& thread, std::size_t kept) {
  run_own(thread, fmt::format("thread plan discard {}", kept + 1));
  const std::string list = run_own(thread, "breakpoint list --internal").output;
  const std::string of_thread = fmt::format("tid: {:#x} ", thread.GetThreadID());
  constexpr std::string_view kind = "Kind: next-branch-location\n";
  lldb::SBTarget target = thread.GetProcess().GetTarget();
  for (std::size_t at = list.find(kind); at != std::string::npos; at = list.find(kind, at)) {
    at += kind.size();
    const std::string line = list.substr(at, list.find('\n', at) - at);
    if (line.find(of_thread) == std::string::npos) continue;
    lldb::SBBreakpoint left = target.FindBreakpointByID(std::atoi(line.c_str()));
    if (left.IsValid() && left.GetID() < 0) left.SetEnabled(false);
  }
}

} // namespace clr::lldb_plugin
