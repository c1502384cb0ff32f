// All that the plugin keeps for one debugger: the door, the settings, the processes.
#pragma once

#include "extension/door/door.h"
#include "extension/lldb/managed_value.h"
#include "extension/process/debugged_process.h"
#include "extension/process/process_table.h"

#include <lldb/API/LLDB.h>

#include <cstdint>
#include <memory>
#include <optional>
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
  // The target whose hook has this number; nothing: there is none, or no more.
  std::optional<lldb::SBTarget> target_of_hook(std::uint32_t number) { return processes_.target_of(number); }
  // The selected target and those of other live processes that stopped and were not visited since: for a hook
  // that LLDB copied to new targets, which does not say of which it tells.
  std::vector<lldb::SBTarget> targets_of_copied_hook(lldb::SBDebugger& debugger);
  // Of the selected target.
  std::shared_ptr<DebuggedProcess> selected(lldb::SBDebugger& debugger) {
    return process(debugger.GetSelectedTarget());
  }

  // Brings LLDB up to date with the stop of every target.
  void publish_all(lldb::SBDebugger& debugger);
  // The same at a stop, or when the plugin is loaded, for those who were not asked anything yet.
  void publish_stop(lldb::SBDebugger& debugger);
  // Gives LLDB the names of all types that are loaded, where all code is published: for clients of the API,
  // who name types without a command.
  void publish_types(DebuggedProcess& process);
  // The same of every target at a stop that is one to the client, who runs no command before it looks at
  // values. At others the process goes on, and LLDB would tell the client of each of its breakpoints, in the
  // middle of a step, because the module of the types is another one: see Publisher::keep_gone.
  void publish_types_of_stop(lldb::SBDebugger& debugger);
  // The same before a command of LLDB's for the target that it is about; `words` as of CommandVisit.
  void publish_command(DebuggedProcess& process, const char** words);
  // Before values are shown: from now on LLDB asks for what stands below managed ones. Nothing happens until
  // some managed code is published, and when this LLDB has no Python.
  void offer_parts(lldb::SBDebugger& debugger, DebuggedProcess& process);
  // Before any command: LLDB asks for what stands below values, but not while it only prints `frames` for its
  // driver and nobody else looks at values.
  void choose_parts(lldb::SBDebugger& debugger, bool frames);
  // While the driver prints frames of a core, `session` is that of its values, which nobody changes until the
  // next command: printed() gives it back for its target, and asks LLDB one question where finding it takes
  // eight. Null: it must be found.
  void prints(const std::shared_ptr<Session>& session) {
    if (prints_frames_ && session->is_of_core()) printed_ = session;
  }
  std::shared_ptr<Session> printed(const lldb::SBTarget& target) const;
  // A script adds commands, which look at values, and of which the plugin does not hear.
  void commands_added() { commands_added_ = true; }
  // The program is no driver of LLDB's: steps may begin without a command.
  static bool serves_client();
  // The plugin was loaded.
  void loaded(lldb::SBDebugger& debugger);

  // The settings are those of every target of the debugger.
  const PdbSearch& search() const { return settings_.session.search; }
  // What was read is dropped; modules for which symbols are found now, or not any more, are made anew.
  void set_search(PdbSearch search);
  // Null: none.
  const std::shared_ptr<const DescriptorFile>& descriptor() const { return settings_.session.descriptor; }
  // What was read is dropped.
  void set_descriptor(std::shared_ptr<const DescriptorFile> descriptor);
  const std::vector<AddedSymbolFile>& symbol_files() const { return settings_.session.symbol_files; }
  void set_symbol_files(std::vector<AddedSymbolFile> files);
  const PublishSettings& publish_settings() const { return settings_.publish; }
  // The next update makes modules anew that these settings concern; all are taken away when they say so.
  void set(const PublishSettings& settings);

  // Throws Error{invalid_argument} when this LLDB's own `bt` cannot show the async methods that wait.
  static void require_async_frames(lldb::SBDebugger& debugger);
  // Whether it shows them. Throws as above.
  void set_async_frames(lldb::SBDebugger& debugger, bool on);
  // Before a command that shows stacks.
  void show_async_frames(lldb::SBDebugger& debugger, DebuggedProcess& process) {
    if (async_frames()) process.show_async_frames(debugger, settings_.async_frames);
  }
  // Of all targets.
  ReferenceTypes& reference_types() { return reference_types_; }
  RecentTypes& recent_references() { return recent_references_; }

  bool async_frames() const { return settings_.async_frames != 0; }

private:
  explicit Workspace(lldb::user_id_t debugger);

  WorkspaceSettings settings_;
  Driver driver_;
  ReferenceTypes reference_types_;
  bool parts_offered_ = false, commands_added_ = false;
  unsigned async_frames_switched_on_ = 0;
  ProcessTable<lldb::SBTarget, DebuggedProcess> processes_;
  RecentTypes recent_references_;
  bool prints_frames_ = false;     // for the driver alone, until the next command
  std::weak_ptr<Session> printed_; // nothing but while prints_frames_
};

} // namespace clr::lldb_plugin
