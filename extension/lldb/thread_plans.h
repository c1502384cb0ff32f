// The steps that LLDB has under way. Its API does not tell of them; the command `thread plan` does.
#pragma once

#include "extension/lldb/plan_list.h"

#include <lldb/API/LLDB.h>

namespace clr::lldb_plugin {

// Those of `thread`, of commands and of the API, where it had `kept` of them before. For callbacks of
// breakpoints, too. Cost: a command of LLDB's.
StepsUnderWay steps_under_way(lldb::SBThread& thread, std::size_t kept = 0);
// That of which `thread` tells at this stop.
StepUnderWay ended_step(lldb::SBThread& thread);
// LLDB has given it up ("step over failed (...)").
bool has_failed_step(lldb::SBThread& thread);
// A plan inside of a step, of which LLDB never tells, has come to its end at this stop (behind the prologue
// of a function that a step has entered, or out of a frame without lines), and the step itself has not. In a
// callback of a breakpoint: LLDB stops here whatever that answers, and tells of no reason. Cost: two commands
// of LLDB's.
bool stops_without_reason(lldb::SBThread& thread);
inline bool is_stepping(lldb::SBThread& thread) {
  return steps_under_way(thread).count != 0;
}

} // namespace clr::lldb_plugin
