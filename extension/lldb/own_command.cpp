#include "extension/lldb/own_command.h"

namespace clr::lldb_plugin {

namespace {
thread_local int running = 0;

class Running {
public:
  Running() { ++running; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() { --running; }
};

OwnAnswer answer_of(lldb::SBCommandReturnObject& result) {
  const auto text = [](const char* from) { return std::string(from != nullptr ? from : ""); };
  return {
      .succeeded = result.Succeeded(), .output = text(result.GetOutput()), .error = text(result.GetError())};
}
} // namespace

OwnAnswer run_own(const lldb::SBDebugger& debugger, const std::string& command) {
  const Running guard;
  lldb::SBCommandReturnObject result;
  lldb::SBDebugger of = debugger;
  of.GetCommandInterpreter().HandleCommand(command.c_str(), result);
  return answer_of(result);
}

OwnAnswer run_own(lldb::SBThread& thread, const std::string& command) {
  const Running guard;
  lldb::SBCommandReturnObject result;
  lldb::SBExecutionContext context(thread);
  lldb::SBDebugger of = thread.GetProcess().GetTarget().GetDebugger();
  of.GetCommandInterpreter().HandleCommand(command.c_str(), context, result);
  return answer_of(result);
}

bool runs_own() {
  return running != 0;
}

} // namespace clr::lldb_plugin
