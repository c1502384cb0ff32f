// The session of one process, made at the stop that is asked for.
#pragma once

#include "extension/session/lent.h"
#include "extension/session/session.h"
#include "extension/session/session_age.h"

#include <lldb/API/LLDB.h>

#include <memory>
#include <vector>

namespace clr::lldb_plugin {

// The user's choices by `clr settings` and `clr symbols`, for all targets of a debugger.
struct SessionSettings {
  PdbSearch search;                          // where files of the targets and their symbols lie on this host
  std::vector<AddedSymbolFile> symbol_files; // that were added
  // In place of the descriptor that the runtime of its build publishes; null: none.
  std::shared_ptr<const DescriptorFile> descriptor;
};

// The state of the process of `target`. No target, or none that is left: none.
ProcessLife life_of(lldb::SBTarget& target);
ProcessLife life_of(lldb::SBProcess& process);
// It stands, and it is not a core file.
bool is_stopped_process(lldb::SBTarget& target);

// Who may write to a process's memory while it stands, which LLDB counts as no stop: what an expression
// assigns is written without running the process.
enum class Writer : std::uint8_t {
  none,
  command, // the one of LLDB's that runs
  client,  // a program that calls LLDB's API, which does so at any time
};

class StopSession {
public:
  // The settings must outlive this.
  StopSession(lldb::SBTarget target, const SessionSettings& settings)
      : target_(std::move(target)), settings_(&settings) {}

  // The session of the present stop, made on first use. Throws Error{process_running}, or
  // Error{invalid_argument} with the plain reason when the process cannot be read: there is none, it has
  // exited.
  std::shared_ptr<Session> at_stop();
  // As at_stop(), for who keeps it when others had their turn, with what it has found: from it nothing is
  // taken away, and who looks at later stops gets another one.
  std::shared_ptr<Session> lend();
  // The session of the last stop that at_stop() was asked for, with what it has read forgotten, for those who
  // look at many stops in a row; a runtime that was not there then is looked for again. Throws as at_stop().
  std::shared_ptr<Session> after_short_run();
  // As after_short_run(), for who shows values: what was read of the process's memory is read again as long
  // as there is a writer.
  std::shared_ptr<Session> for_values();
  // From now on. Behind a command, what was read is forgotten once more, also by at_stop().
  void set_writer(Writer writer);

  // The settings have changed: where files lie, or which symbol files there are.
  void search_changed() { drop(); }
  void symbol_files_changed();
  void drop();

private:
  std::uint32_t require_stop();
  void forget_written(bool always);
  std::shared_ptr<Session> open(std::uint32_t stop);

  lldb::SBTarget target_;
  const SessionSettings* settings_;
  SessionAge age_;
  Writer writer_ = Writer::client; // until a command says who works
  bool written_ = false;           // behind a writer that is gone
  std::shared_ptr<Session> session_;
  Lent<Session> lent_;
};

} // namespace clr::lldb_plugin
