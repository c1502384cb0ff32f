// The steps that LLDB has under way. Its API does not tell of them; the command `thread plan` does.
#pragma once

#include <lldb/API/LLDB.h>

#include <cstdint>

namespace clr::lldb_plugin {

enum class StepUnderWay : std::uint8_t { none, over, into, out, other };

// The step of `thread` that has begun and not ended, of a command or of the API. For callbacks of
// breakpoints, too. Cost: a command of LLDB's.
StepUnderWay step_under_way(lldb::SBThread& thread);
inline bool is_stepping(lldb::SBThread& thread) {
  return step_under_way(thread) != StepUnderWay::none;
}

} // namespace clr::lldb_plugin
