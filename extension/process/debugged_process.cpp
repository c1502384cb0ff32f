#include "extension/process/debugged_process.h"

#include "extension/process/visits.h"

namespace clr::lldb_plugin {

DebuggedProcess::DebuggedProcess(const lldb::SBTarget& target, const WorkspaceSettings& settings,
                                 DebuggedProcess* before)
    : target_(target), sessions_(target, settings.session), publishing_(target, sessions_, settings.publish),
      breakpoints_(target, sessions_, publishing_, own_entries(),
                   before != nullptr ? &before->breakpoints_ : nullptr),
      values_(target, sessions_), types_(target, sessions_) {}

void DebuggedProcess::retire() {
  if (target_.IsValid()) {
    publishing_.withdraw();
    breakpoints_.retire();
    types_.withdraw();
  }
  values_.forget();
  sessions_.drop();
}

} // namespace clr::lldb_plugin
