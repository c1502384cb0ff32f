#include "extension/session/stop_session.h"

#include "core/memory/error.h"
#include "extension/lldb/core_file.h"

#include <string>
#include <utility>

namespace clr::lldb_plugin {

ProcessLife life_of(lldb::SBTarget& target) {
  if (!target.IsValid()) return ProcessLife::none;
  lldb::SBProcess process = target.GetProcess();
  return life_of(process);
}

ProcessLife life_of(lldb::SBProcess& process) {
  if (!process.IsValid()) return ProcessLife::none;
  switch (process.GetState()) {
  case lldb::eStateStopped:
  case lldb::eStateSuspended:
  case lldb::eStateCrashed:
    return ProcessLife::stopped;
  case lldb::eStateRunning:
  case lldb::eStateStepping:
    return ProcessLife::running;
  case lldb::eStateExited:
    return ProcessLife::exited;
  case lldb::eStateDetached:
    return ProcessLife::detached;
  case lldb::eStateLaunching:
  case lldb::eStateAttaching:
  case lldb::eStateConnected:
    return ProcessLife::not_yet;
  default:
    return ProcessLife::none;
  }
}

bool is_stopped_process(lldb::SBTarget& target) {
  lldb::SBProcess process = target.GetProcess();
  return process.IsValid() && process.GetState() == lldb::eStateStopped && !is_core(process);
}

std::uint32_t StopSession::require_stop() {
  lldb::SBProcess process = target_.GetProcess();
  const ProcessLife life = life_of(process); // a target that is not there has none
  const std::string_view why = why_unreadable(life);
  if (!why.empty())
    throw Error(life == ProcessLife::running ? ErrorKind::process_running : ErrorKind::invalid_argument,
                std::string(why));
  return process.GetStopID(true);
}

std::shared_ptr<Session> StopSession::open(std::uint32_t stop) {
  drop();
  session_ = open_session(target_, settings_->search, settings_->descriptor);
  if (!settings_->symbol_files.empty()) session_->set_symbol_files(settings_->symbol_files);
  age_.opened(stop);
  return session_;
}

void StopSession::set_writer(Writer writer) {
  if (writer != writer_ && writer_ != Writer::none) written_ = true;
  writer_ = writer;
}

void StopSession::forget_written(bool always) {
  const bool written = std::exchange(written_, false);
  if (written || always) session_->written();
}

std::shared_ptr<Session> StopSession::at_stop() {
  const std::uint32_t stop = require_stop();
  if (age_.for_stop(stop) != SessionAge::Need::nothing) return open(stop);
  forget_written(writer_ == Writer::command);
  return session_;
}

std::shared_ptr<Session> StopSession::lend() {
  return lent_.lend(at_stop());
}

std::shared_ptr<Session> StopSession::for_values() {
  after_short_run();
  forget_written(writer_ != Writer::none);
  return session_;
}

std::shared_ptr<Session> StopSession::after_short_run() {
  const std::uint32_t stop = require_stop();
  switch (age_.for_short_run(stop, session_ && session_->runtime().absence() == nullptr)) {
  case SessionAge::Need::nothing:
    break;
  case SessionAge::Need::forget:
    if (lent_.is_lent(session_)) return open(stop);
    session_->ran();
    age_.forgot(stop);
    break;
  case SessionAge::Need::open:
    return open(stop);
  }
  return session_;
}

void StopSession::symbol_files_changed() {
  if (lent_.is_lent(session_)) return drop();
  if (session_) session_->set_symbol_files(settings_->symbol_files);
}

void StopSession::drop() {
  session_.reset();
  age_.dropped();
}

} // namespace clr::lldb_plugin
