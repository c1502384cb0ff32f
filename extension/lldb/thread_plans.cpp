#include "extension/lldb/thread_plans.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <string_view>

namespace clr::lldb_plugin {

namespace {
std::string ask(lldb::SBThread& thread, const std::string& command) {
  lldb::SBDebugger debugger = thread.GetProcess().GetTarget().GetDebugger();
  lldb::SBExecutionContext context(thread);
  lldb::SBCommandReturnObject result;
  debugger.GetCommandInterpreter().HandleCommand(command.c_str(), context, result);
  const char* const text = result.GetOutput();
  return text != nullptr ? text : "";
}
} // namespace

// Element 0 of the active plans is the base plan, which every thread has.
StepKind step_of(lldb::SBThread& thread) {
  const std::string text = ask(thread, fmt::format("thread plan list {}", thread.GetIndexID()));
  const std::size_t active = text.find("Active plan stack");
  if (active == std::string::npos) return StepKind::none;
  std::string_view plans = std::string_view(text).substr(active);
  for (const char* const other : {"Completed plan stack", "Discarded plan stack"})
    plans = plans.substr(0, plans.find(other));
  constexpr std::string_view first = "Element 1: ";
  const std::size_t step = plans.find(first);
  if (step == std::string_view::npos) return StepKind::none;
  return plans.substr(step + first.size()).starts_with("Stepping out") ? StepKind::out : StepKind::other;
}

// A plan that a command still waits for keeps its breakpoint in the line that it stepped over.
void end_steps(lldb::SBThread& thread) {
  ask(thread, "thread plan discard 1");
  const std::string list = ask(thread, "breakpoint list --internal");
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
