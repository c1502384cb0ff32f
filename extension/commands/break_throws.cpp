#include "extension/commands/break_throws.h"

#include "core/describe/break_targets.h"
#include "core/report/json.h"
#include "core/runtime/presence.h"
#include "extension/lldb/core_file.h"
#include "extension/lldb/signal_info.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <optional>

namespace clr::lldb_plugin {

namespace {
std::string unknown_text(const TypesCalled& types, bool core) {
  const std::string unread =
      types.silent.empty() ? "" : fmt::format(" ({} of them cannot be read)", types.silent.size());
  return fmt::format("none of the {} modules that are loaded has a type of this name{}{}", types.modules,
                     unread,
                     core ? ""
                          : "; the breakpoint stops when a module that is loaded later has one and it is "
                            "thrown");
}
} // namespace

std::string throws_text(const std::string& type) {
  return type.empty() ? "every exception that is thrown" : "exceptions of " + type;
}

void break_at_throws(Invocation& invocation, lldb::SBTarget& target, const ThrowOptions& options) {
  if (!options.condition.empty())
    throw Error(ErrorKind::invalid_argument,
                "a condition has no variables where an exception is thrown; give its type alone");
  ManagedBreakpoints& breakpoints = invocation.process(target)->breakpoints();
  lldb::SBProcess process = target.GetProcess();
  std::optional<TypesCalled> types;
  if (process.IsValid() && process.GetState() == lldb::eStateStopped) {
    Runtime& runtime = invocation.session().runtime();
    if (runtime.absence() == nullptr) {
      if (!ManagedThrows::can_stop(runtime))
        throw Error(ErrorKind::unsupported_contract,
                    "this runtime throws exceptions in native code; that of .NET 9 and later can be stopped");
      if (!options.type.empty())
        types = types_called(runtime, options.type, [&] { return invocation.out.interrupted(); });
      // Who did not wait for all modules is not told that none of them has it.
      if (types && !types->any && invocation.out.interrupted()) types.reset();
    }
  }
  breakpoints.prepare_set({BreakpointWish::Kind::name, ThrownExceptions::methods(), {}, 0});
  lldb::SBBreakpoint breakpoint = breakpoints.throws().make(options.type);
  if (!breakpoint.IsValid()) throw Error(ErrorKind::invalid_argument, "LLDB refuses to make this breakpoint");
  if (options.one_shot) breakpoint.SetOneShot(true);
  breakpoints.add(breakpoint);
  if (options.json) {
    Json json{{"schema", json_schema}, {"breakpoint", breakpoint.GetID()}, {"exception", options.type}};
    if (types) json["known"] = types->any;
    return invocation.out.line("{}", dump(json));
  }
  invocation.out.line("Breakpoint {}: {}", breakpoint.GetID(), throws_text(options.type));
  if (types && !types->any) invocation.out.line("  {}", unknown_text(*types, is_core(process)));
}

// The runtime looks for a handler before it leaves any frame, so the stack of the throw is whole when it
// finds none and ends the process.
void stop_at_unhandled(Invocation& invocation, lldb::SBTarget& target, const ThrowOptions& options) {
  if (!options.type.empty())
    throw Error(ErrorKind::invalid_argument,
                "--unhandled takes no type: each exception that nobody catches ends the process");
  if (options.one_shot || !options.condition.empty())
    throw Error(ErrorKind::invalid_argument, "--unhandled sets no breakpoint, so it takes no options of one");
  if (lldb::SBProcess process = target.GetProcess(); process.IsValid() && !stop_at_signal(process, "SIGABRT"))
    throw Error(ErrorKind::invalid_argument, "LLDB refuses to stop at SIGABRT: see `process handle SIGABRT`");
  if (options.json)
    return invocation.out.line("{}", dump(Json{{"schema", json_schema}, {"signal", "SIGABRT"}}));
  invocation.out.line("An exception that nobody catches stops the process with SIGABRT, where `bt` is the "
                      "stack of its throw and `clr pe` shows it. No breakpoint is needed for that.");
}

} // namespace clr::lldb_plugin
