#include "extension/session/session_store.h"

#include "core/memory/error.h"

#include <algorithm>

namespace clr::lldb_plugin {

namespace {
[[noreturn]] void refuse(const char* why) {
  throw Error(ErrorKind::invalid_argument, why);
}

void require_stopped(lldb::StateType state) {
  switch (state) {
  case lldb::eStateStopped:
  case lldb::eStateSuspended:
  case lldb::eStateCrashed:
    return;
  case lldb::eStateRunning:
  case lldb::eStateStepping:
    refuse("the process is running; stop it first (process interrupt)");
  case lldb::eStateExited:
    refuse("the process has exited");
  case lldb::eStateDetached:
    refuse("the process has been detached from");
  case lldb::eStateLaunching:
  case lldb::eStateAttaching:
  case lldb::eStateConnected:
    refuse("the process has not stopped yet");
  default:
    refuse("there is no process; attach to one, launch one or open a core file");
  }
}
} // namespace

void SessionStore::drop_stale(lldb::SBDebugger& debugger) {
  std::erase_if(entries_, [&](Entry& entry) {
    if (!entry.target.IsValid()) return true;
    for (std::uint32_t i = 0; i < debugger.GetNumTargets(); ++i)
      if (debugger.GetTargetAtIndex(i) == entry.target) return false;
    return true;
  });
}

Session& SessionStore::selected(lldb::SBDebugger& debugger) {
  lldb::SBTarget target = debugger.GetSelectedTarget();
  return *of(debugger, target);
}

std::shared_ptr<Session> SessionStore::of(lldb::SBDebugger& debugger, lldb::SBTarget& target) {
  drop_stale(debugger);
  if (!target.IsValid()) refuse("there is no target; attach to a process or open a core file");
  lldb::SBProcess process = target.GetProcess();
  if (!process.IsValid()) refuse("there is no process; attach to one, launch one or open a core file");
  require_stopped(process.GetState());

  const std::uint32_t id = process.GetUniqueID();
  const std::uint32_t stop = process.GetStopID(true);
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](Entry& entry) { return entry.target == target; });
  const bool whole = found != entries_.end() && found->process == id && found->ran_to == 0;
  if (whole && found->stop == stop) return found->session;
  if (found != entries_.end()) entries_.erase(found);
  entries_.push_back({target, id, stop, 0, open_session(target, search_)});
  if (!symbol_files_.empty()) entries_.back().session->set_symbol_files(symbol_files_);
  return entries_.back().session;
}

std::shared_ptr<Session> SessionStore::after_short_run(lldb::SBDebugger& debugger, lldb::SBTarget& target) {
  lldb::SBProcess process = target.GetProcess();
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](Entry& entry) { return entry.target == target; });
  if (found == entries_.end() || !process.IsValid() || found->process != process.GetUniqueID() ||
      found->session->runtime().absence() != nullptr)
    return of(debugger, target);
  require_stopped(process.GetState());
  const std::uint32_t stop = process.GetStopID(true);
  if (stop == found->stop || stop == found->ran_to) return found->session;
  found->session->ran();
  found->ran_to = stop;
  return found->session;
}

void SessionStore::set_search(PdbSearch search) {
  search_ = std::move(search);
  entries_.clear();
}

void SessionStore::set_symbol_files(std::vector<AddedSymbolFile> files) {
  symbol_files_ = std::move(files);
  for (Entry& entry : entries_) entry.session->set_symbol_files(symbol_files_);
}

} // namespace clr::lldb_plugin
