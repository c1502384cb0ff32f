// All that the plugin keeps for one debugger: the door, the settings, the processes.
#pragma once

#include "extension/door/door.h"
#include "extension/process/debugged_process.h"
#include "extension/process/process_table.h"

#include <lldb/API/LLDB.h>

#include <memory>
#include <vector>

namespace clr::lldb_plugin {

// Lives as long as the debugger's commands. Nobody gets at it but through a turn.
class Workspace final : public Door {
public:
  static std::shared_ptr<Workspace> make(lldb::SBDebugger& debugger);
  // All doors of the plugin are workspaces.
  static Workspace& of(const Turn& turn) { return static_cast<Workspace&>(turn.door()); }

  // The process of `target`, also when there is none yet. Throws Error when there is no such target.
  std::shared_ptr<DebuggedProcess> process(lldb::SBTarget target);
  // The same, but null when the target is not known.
  std::shared_ptr<DebuggedProcess> find(lldb::SBTarget target) { return processes_.find(std::move(target)); }
  // Of the selected target.
  std::shared_ptr<DebuggedProcess> selected(lldb::SBDebugger& debugger) {
    return process(debugger.GetSelectedTarget());
  }

  // Brings LLDB up to date with the stop of every target; `goes_on` as of ProcessPublishing::update.
  void publish_all(lldb::SBDebugger& debugger, bool goes_on = true);

  // The settings are those of every target of the debugger.
  const PdbSearch& search() const { return settings_.session.search; }
  // Drops all that was read and published: it is to be made anew.
  void set_search(PdbSearch search);
  const std::vector<AddedSymbolFile>& symbol_files() const { return settings_.session.symbol_files; }
  void set_symbol_files(std::vector<AddedSymbolFile> files);
  const PublishSettings& publish_settings() const { return settings_.publish; }
  // Modules that were published by other settings are taken away; the next update publishes by these.
  void set(const PublishSettings& settings);

private:
  explicit Workspace(lldb::user_id_t debugger);

  WorkspaceSettings settings_;
  ProcessTable<lldb::SBTarget, DebuggedProcess> processes_;
};

} // namespace clr::lldb_plugin
