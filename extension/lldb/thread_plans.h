// The steps that LLDB has under way. Its API does not tell of them; the command `thread plan` does.
#pragma once

#include <lldb/API/LLDB.h>

#include <cstdint>

namespace clr::lldb_plugin {

enum class StepKind : std::uint8_t { none, out, other };
// The step of `thread` that has begun and not ended, of a command or of the API. For callbacks of
// breakpoints, too. Cost: a command of LLDB's.
StepKind step_of(lldb::SBThread& thread);
// The steps of `thread` end where they are, without a stop.
void end_steps(lldb::SBThread& thread);

} // namespace clr::lldb_plugin
