// The runtime of each target at its present stop.
#pragma once

#include "extension/session/session.h"

#include <lldb/API/LLDB.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

namespace clr::lldb_plugin {

class SessionStore {
public:
  // The session of the selected target at this stop, made on first use. Throws Error{invalid_argument} with
  // the plain reason when there is no process that can be read: no target, no process, running, exited.
  Session& selected(lldb::SBDebugger& debugger);
  // The same of any target of the debugger, for those who keep it beyond a command.
  std::shared_ptr<Session> of(lldb::SBDebugger& debugger, lldb::SBTarget& target);

  // For those who look at many stops in a row (code that is compiled): the session of the process's last stop
  // that of() was asked for, with what it has read forgotten, else as of(). A runtime that was not there then
  // is looked for again. Throws as of().
  std::shared_ptr<Session> after_short_run(lldb::SBDebugger& debugger, lldb::SBTarget& target);

  // LLDB calls commands and callbacks of breakpoints on several threads; who uses sessions has the turn.
  // Waits no longer than max_wait: LLDB's own locks may stand crosswise. Not owned then.
  using Turn = std::unique_lock<std::recursive_timed_mutex>;
  Turn try_turn() { return Turn(mutex_, max_wait); }
  static constexpr std::chrono::seconds max_wait{2};

  // Where files of the targets and their symbols lie on this host. Set by `clr settings`, for all targets of
  // a debugger.
  const PdbSearch& search() const { return search_; }
  // Drops every session: they are to be made anew.
  void set_search(PdbSearch search);

  // Symbol files that were added, for every target of the debugger.
  const std::vector<AddedSymbolFile>& symbol_files() const { return symbol_files_; }
  void set_symbol_files(std::vector<AddedSymbolFile> files);

private:
  struct Entry {
    lldb::SBTarget target;
    std::uint32_t process = 0; // LLDB's unique id
    std::uint32_t stop = 0;    // that the session is of
    std::uint32_t ran_to = 0;  // later stop that after_short_run() brought it to; 0: none
    std::shared_ptr<Session> session;
  };
  void drop_stale(lldb::SBDebugger& debugger);

  std::recursive_timed_mutex mutex_;
  std::vector<Entry> entries_;
  PdbSearch search_;
  std::vector<AddedSymbolFile> symbol_files_;
};

} // namespace clr::lldb_plugin
