// All that the plugin keeps of one process of one target.
#pragma once

#include "extension/breakpoints/managed_breakpoints.h"
#include "extension/lldb/running_selection.h"
#include "extension/publish/named_types.h"
#include "extension/publish/process_publishing.h"
#include "extension/publish/shown_values.h"
#include "extension/session/stop_session.h"

#include <lldb/API/LLDB.h>

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace clr::lldb_plugin {

// The user's settings for all targets of a debugger.
struct WorkspaceSettings {
  SessionSettings session;
  PublishSettings publish;
  unsigned async_frames = 0; // 0: `bt` shows none; else how often that was switched on
};

// Its parts use each other and live as long as it does. A target without a process has one too: breakpoints
// are set before a program is started.
class DebuggedProcess {
public:
  // The settings must outlive this. `number`: of the target's stop hook. `before`: the one of the target's
  // process before, which gives what is known of the target's breakpoints; null: there was none.
  DebuggedProcess(const lldb::SBTarget& target, std::uint32_t number, const WorkspaceSettings& settings,
                  DebuggedProcess* before);
  DebuggedProcess(const DebuggedProcess&) = delete;
  DebuggedProcess& operator=(const DebuggedProcess&) = delete;

  StopSession& sessions() { return sessions_; }
  ProcessPublishing& publishing() { return publishing_; }
  ManagedBreakpoints& breakpoints() { return breakpoints_; }
  ShownValues& values() { return values_; }
  NamedTypes& types() { return types_; }
  RunningSelection& selection() { return selection_; }

  // Where threads stand that have a reason for this stop, if all of these stand at breakpoints in code of the
  // user's which is published: then LLDB shows nothing else by itself. Else nothing, also within a step.
  std::vector<Address> known_places_of_stop();

  // True but for the first call: somebody waits until LLDB has attached.
  bool expects_attach() { return std::exchange(expects_attach_, true); }

  // Gives LLDB the types that an expression names, as far as they can be read.
  void describe_types(std::string_view expression);

  // All was done that the hook asks for at `stop`, with the modules that LLDB has now: while it attaches it
  // comes to know more.
  void visit(std::uint32_t stop) { visited_ = {stop, target_.GetNumModules()}; }
  bool visited(std::uint32_t stop) const { return visited_ == std::pair{stop, target_.GetNumModules()}; }
  // The same, also when there are other modules by now.
  bool came_to(std::uint32_t stop) const { return visited_.first == stop; }

  // At a stop that the user sees: says once what is missing.
  void tell_what_is_missing();

  // Gives LLDB async_frames() of this stop, unless it was given them; `switched_on` is the number of
  // WorkspaceSettings. Cost: once in a stop that of async_frames().
  void show_async_frames(lldb::SBDebugger& debugger, unsigned switched_on);

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
  RunningSelection selection_;
  bool told_what_is_missing_ = false, expects_attach_ = false;
  std::pair<std::uint32_t, std::uint32_t> visited_{}; // a stop and a number of modules
  unsigned async_frames_ = 0; // WorkspaceSettings::async_frames when LLDB was given frames, of the stop:
  std::uint32_t async_frames_stop_ = 0;
};

} // namespace clr::lldb_plugin
