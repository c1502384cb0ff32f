#include "extension/process/new_targets.h"

#include "extension/breakpoints/compile_watch.h"
#include "extension/lldb/entries.h"
#include "extension/lldb/hidden_breakpoints.h"
#include "extension/lldb/stop_hook.h"
#include "extension/process/workspace.h"
#include "extension/publish/process_publishing.h"

namespace clr::lldb_plugin {

namespace {
bool visit_jit_loaded(const Turn& turn, lldb::SBProcess& process, lldb::SBThread&, const HitPlace& place) {
  lldb::SBTarget target = process.GetTarget();
  // LLDB forgets of a breakpoint that it copies that lists are not to show it.
  if (lldb::SBBreakpoint loading = target.FindBreakpointByID(place.breakpoint); loading.IsValid())
    hide(target, loading);
  Workspace::of(turn).process(target)->breakpoints().refresh();
  return false; // the process goes on
}
} // namespace

// LLDB copies the breakpoints of its dummy target to each new one.
void follow_new_targets(lldb::SBDebugger& debugger) {
  lldb::SBTarget dummy = debugger.GetDummyTarget();
  if (!dummy.IsValid()) return;
  lldb::SBBreakpoint loading =
      dummy.BreakpointCreateByName(CompileWatch::jit_export, CompileWatch::jit_library);
  if (!loading.IsValid()) return;
  hide(dummy, loading);
  hit_entry<Way::compile_hook, visit_jit_loaded, false>().attach(loading);
  add_stop_hook_of_new_targets(debugger, ProcessPublishing::hook_command);
}

} // namespace clr::lldb_plugin
