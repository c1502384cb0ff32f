#include "extension/process/new_targets.h"

#include "extension/breakpoints/compile_watch.h"
#include "extension/lldb/entries.h"
#include "extension/lldb/hidden_breakpoints.h"
#include "extension/lldb/native_modules.h"
#include "extension/lldb/stop_hook.h"
#include "extension/process/visits.h"
#include "extension/process/workspace.h"
#include "extension/publish/process_publishing.h"

#include <fmt/format.h>

namespace clr::lldb_plugin {

namespace {
constexpr const char *runtime_library = "libcoreclr.so", *runtime_export = "coreclr_initialize";

bool visit_jit_loaded(const Turn& turn, lldb::SBProcess& process, lldb::SBThread&, const HitPlace&) {
  Workspace::of(turn).process(process.GetTarget())->breakpoints().refresh();
  return false; // the process goes on
}

// LLDB attaches, and has loaded the modules up to the one of `file`. No command, no stop hook and no
// breakpoint lets the plugin look before a client of the API sees frames and lets the process go on.
void visit_loading(const Turn& turn, lldb::SBDebugger& debugger, std::string_view file) {
  lldb::SBTarget target = debugger.GetSelectedTarget();
  if (!attaches(target)) return;
  const bool runtime = function_in(target, runtime_library, runtime_export) != 0;
  const bool jit = file == CompileWatch::jit_library ||
                   function_in(target, CompileWatch::jit_library, CompileWatch::jit_export) != 0;
  // The compiler counts as soon as it is about to be loaded: it may be the last module.
  if (runtime && jit) visit_attach(turn, debugger);
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
  add_stop_hook_of_new_targets(debugger, ProcessPublishing::hook_command,
                               fmt::format("{} 0", ProcessPublishing::hook_option));
  call_before_modules<visit_loading>(debugger);
}

} // namespace clr::lldb_plugin
