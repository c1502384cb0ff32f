#include "extension/lldb/running_selection.h"

#include "extension/lldb/fresh_frames.h"

#include <cstdint>
#include <utility>

namespace clr::lldb_plugin {

void RunningSelection::move(lldb::SBProcess& process, lldb::tid_t steps) {
  if (steps == 0 || !looks_while_running() || process.GetSelectedThread().GetThreadID() != steps) return;
  for (std::uint32_t i = 0; i < process.GetNumThreads(); ++i) {
    lldb::SBThread thread = process.GetThreadAtIndex(i);
    if (thread.GetThreadID() == steps || thread.GetStopReason() != lldb::eStopReasonNone) continue;
    selected_ = steps;
    instead_ = thread.GetThreadID();
    process.SetSelectedThread(thread);
    return;
  }
}

void RunningSelection::restore(lldb::SBProcess& process) {
  const lldb::tid_t selected = std::exchange(selected_, 0);
  if (selected != 0 && process.GetSelectedThread().GetThreadID() == instead_)
    process.SetSelectedThreadByID(selected);
}

} // namespace clr::lldb_plugin
