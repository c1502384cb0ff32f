// The frame around every command: options, the session, faults.
#pragma once

#include "extension/breakpoints/managed_breakpoints.h"
#include "extension/lldb/output.h"
#include "extension/publish/publishing.h"
#include "extension/session/session_store.h"

#include <CLI/CLI.hpp>
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

// One run of a command: its options' values, and what it does with them.
class CommandRun {
public:
  virtual ~CommandRun() = default;
  // Whatever it throws becomes the command's "error:" line.
  virtual void run(Invocation& invocation) = 0;
};

struct CommandSpec {
  const char* name;       // within the tree `clr`
  const char* short_name; // beside the tree; null: none
  const char* help;       // one line
  const char* syntax;     // what follows the name, as LLDB writes it
  // Makes a run whose options have been added to `app`.
  std::unique_ptr<CommandRun> (*make)(CLI::App& app);
};

// Every command of the plugin, each in its own file.
CommandSpec analyze_command();
CommandSpec ip2md_command();
CommandSpec break_command();
CommandSpec bt_command();
CommandSpec disassemble_command();
CommandSpec info_command();
CommandSpec methods_command();
CommandSpec pe_command();
CommandSpec perfmap_command();
CommandSpec publish_command();
CommandSpec savecore_command();
CommandSpec settings_command();
CommandSpec source_command();
CommandSpec step_command();
CommandSpec symbolize_command();
CommandSpec symbols_command();
CommandSpec threads_command();
CommandSpec unwind_command();

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

// What `help` prints beneath a command's one line and its syntax: arguments and options.
std::string help_text(const CommandSpec& spec);

} // namespace clr::lldb_plugin
