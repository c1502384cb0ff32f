// The frame around every command: options, the session, faults.
#pragma once

#include "extension/breakpoints/managed_breakpoints.h"
#include "extension/commands/command_spec.h"
#include "extension/lldb/output.h"
#include "extension/publish/publishing.h"
#include "extension/session/session_store.h"

#include <lldb/API/LLDB.h>

#include <memory>
#include <string>

namespace clr::lldb_plugin {

// What a run of a command works with.
struct Invocation {
  lldb::SBDebugger debugger;
  SessionStore& sessions;
  Publishing& publishing;
  ManagedBreakpoints& breakpoints;
  Output& out;

  // The session of the selected target; throws Error with the plain reason when there is none.
  Session& session() { return sessions.selected(debugger); }
};

// A spec under one name of LLDB's, which owns it for the debugger's life.
class Command final : public lldb::SBCommandPluginInterface {
public:
  Command(const CommandSpec& spec, std::shared_ptr<SessionStore> sessions,
          std::shared_ptr<Publishing> publishing, std::shared_ptr<ManagedBreakpoints> breakpoints)
      : spec_(spec), sessions_(std::move(sessions)), publishing_(std::move(publishing)),
        breakpoints_(std::move(breakpoints)) {}

  // Called by LLDB. Parses the arguments, runs, turns every exception into an "error:" line.
  bool DoExecute(lldb::SBDebugger debugger, char** arguments, lldb::SBCommandReturnObject& result) override;

private:
  CommandSpec spec_;
  std::shared_ptr<SessionStore> sessions_;
  std::shared_ptr<Publishing> publishing_;
  std::shared_ptr<ManagedBreakpoints> breakpoints_;
};

} // namespace clr::lldb_plugin
