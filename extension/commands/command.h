// The frame around every command: options, and what a run works with.
#pragma once

#include "extension/commands/command_spec.h"
#include "extension/lldb/entries.h"
#include "extension/lldb/output.h"
#include "extension/process/workspace.h"

#include <lldb/API/LLDB.h>

#include <memory>
#include <string>
#include <vector>

namespace clr::lldb_plugin {

// Everything that one run of a command works with. Its turn lasts as long as the run.
struct Invocation {
  lldb::SBDebugger debugger;
  const Turn& turn;
  Output& out;

  Workspace& workspace() const { return Workspace::of(turn); }
  // All that is kept of `target` and its process. Throws Error when there is no target.
  std::shared_ptr<DebuggedProcess> process(lldb::SBTarget target) const {
    return workspace().process(std::move(target));
  }
  // The session of the selected target; throws Error with the plain reason when there is none.
  Session& session() { return *workspace().selected(debugger)->sessions().at_stop(); }
};

// A spec under one name of LLDB's: that in the tree, or the short one.
class Command final : public CommandEntry {
public:
  Command(const CommandSpec& spec, std::shared_ptr<Door> door, bool is_short)
      : CommandEntry(std::move(door)), spec_(spec), is_short_(is_short) {}

protected:
  std::unique_ptr<Run> parse(std::vector<std::string> words, Output& out) override;

private:
  CommandSpec spec_;
  bool is_short_;
};

} // namespace clr::lldb_plugin
