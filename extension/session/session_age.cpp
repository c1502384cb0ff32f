#include "extension/session/session_age.h"

namespace clr::lldb_plugin {

std::string_view why_unreadable(ProcessLife life) {
  switch (life) {
  case ProcessLife::stopped:
    return {};
  case ProcessLife::running:
    return "the process is running; stop it first (process interrupt)";
  case ProcessLife::exited:
    return "the process has exited";
  case ProcessLife::detached:
    return "the process has been detached from";
  case ProcessLife::not_yet:
    return "the process has not stopped yet";
  case ProcessLife::none:
    break;
  }
  return "there is no process; attach to one, launch one or open a core file";
}

bool is_alive(ProcessLife life) {
  return life == ProcessLife::not_yet || life == ProcessLife::running || life == ProcessLife::stopped;
}

SessionAge::Need SessionAge::for_stop(std::uint32_t stop) const {
  return opened_ == stop && !ran_to_ ? Need::nothing : Need::open;
}

SessionAge::Need SessionAge::for_short_run(std::uint32_t stop, bool runtime_known) const {
  if (!opened_) return Need::open;
  if (!runtime_known) return for_stop(stop);
  return opened_ == stop || ran_to_ == stop ? Need::nothing : Need::forget;
}

} // namespace clr::lldb_plugin
