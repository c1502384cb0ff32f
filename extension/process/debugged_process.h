// All that the plugin keeps of one process of one target.
#pragma once

#include "extension/breakpoints/managed_breakpoints.h"
#include "extension/publish/named_types.h"
#include "extension/publish/process_publishing.h"
#include "extension/publish/shown_values.h"
#include "extension/session/stop_session.h"

#include <lldb/API/LLDB.h>

namespace clr::lldb_plugin {

// The user's settings for all targets of a debugger.
struct WorkspaceSettings {
  SessionSettings session;
  PublishSettings publish;
};

// Its parts use each other and live as long as it does. A target without a process has one too: breakpoints
// are set before a program is started.
class DebuggedProcess {
public:
  // The settings must outlive this. `before`: the one of the target's process before, which gives what is
  // known of the target's breakpoints; null: there was none.
  DebuggedProcess(const lldb::SBTarget& target, const WorkspaceSettings& settings, DebuggedProcess* before);
  DebuggedProcess(const DebuggedProcess&) = delete;
  DebuggedProcess& operator=(const DebuggedProcess&) = delete;

  StopSession& sessions() { return sessions_; }
  ProcessPublishing& publishing() { return publishing_; }
  ManagedBreakpoints& breakpoints() { return breakpoints_; }
  ShownValues& values() { return values_; }
  NamedTypes& types() { return types_; }

  // At a stop that the user sees: says once what is missing.
  void tell_what_is_missing();

  // The process has ended, or another one stands in its place, or the target is gone: takes back what was put
  // into LLDB. Called once, by the table of processes.
  void retire();

private:
  lldb::SBTarget target_;
  StopSession sessions_;
  ProcessPublishing publishing_;
  ManagedBreakpoints breakpoints_;
  ShownValues values_;
  NamedTypes types_;
  bool told_what_is_missing_ = false;
};

} // namespace clr::lldb_plugin
