// The frame around every command: options, and what a run works with.
#pragma once

#include "extension/lldb/entries.h"
#include "extension/lldb/output.h"
#include "extension/process/workspace.h"

#include <CLI/CLI.hpp>
#include <lldb/API/LLDB.h>

#include <memory>
#include <string>
#include <vector>

namespace clr::lldb_plugin {

// What a run of a command works with. Its turn lasts as long as the run.
struct Invocation {
  lldb::SBDebugger debugger;
  const Turn& turn;
  Output& out;

  Workspace& workspace() const { return Workspace::of(turn); }
  // What is kept of `target` and its process; throws Error when there is no target.
  std::shared_ptr<DebuggedProcess> process(lldb::SBTarget target) const {
    return workspace().process(std::move(target));
  }
  // The session of the selected target; throws Error with the plain reason when there is none.
  Session& session() { return *workspace().selected(debugger)->sessions().at_stop(); }
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

// A spec under one name of LLDB's.
class Command final : public CommandEntry {
public:
  Command(const CommandSpec& spec, std::shared_ptr<Door> door) : CommandEntry(std::move(door)), spec_(spec) {}

protected:
  std::unique_ptr<Run> parse(std::vector<std::string> words, Output& out) override;

private:
  CommandSpec spec_;
};

// What `help` prints beneath a command's one line and its syntax: arguments and options.
std::string help_text(const CommandSpec& spec);

} // namespace clr::lldb_plugin
