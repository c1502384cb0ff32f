#include "extension/session/chosen_thread.h"

#include "core/report/crash_text.h"
#include "core/report/exception_report.h"
#include "core/report/stop_signal.h"
#include "extension/lldb/thread_header.h"

namespace clr::lldb_plugin {

namespace {

bool has_failed(lldb::SBThread& thread) {
  const lldb::StopReason reason = thread.GetStopReason();
  if (reason == lldb::eStopReasonException) return true;
  if (reason != lldb::eStopReasonSignal || thread.GetStopReasonDataCount() == 0) return false;
  return says_that_it_failed(thread.GetStopReasonDataAtIndex(0));
}

} // namespace

std::string ChosenThread::crash(Session& session) const {
  if (!failed) return {};
  lldb::SBThread shown = thread;
  return crash_text(session.runtime(), session.stacks(), session.registers(shown), shown.GetThreadID(),
                    thread_header(shown));
}

ChosenThread choose_thread(Session& session, lldb::SBProcess& process) {
  for (std::uint32_t i = 0; i < process.GetNumThreads(); ++i) {
    lldb::SBThread thread = process.GetThreadAtIndex(i);
    if (has_failed(thread)) return {thread, "it had the signal", true, false};
  }
  if (session.runtime().absence() == nullptr) {
    ExceptionReporter reporter(session.runtime());
    for (const RuntimeThread& known : session.stacks().threads().threads) {
      if (known.os_id.value_or(0) == 0 || reporter.of_thread(known).in_flight.empty()) continue;
      lldb::SBThread thread = process.GetThreadByID(*known.os_id);
      if (thread.IsValid()) return {thread, "an exception is in flight on it", false, false};
    }
  }
  return {process.GetSelectedThread(), "the selected one: no thread failed", false, true};
}

} // namespace clr::lldb_plugin
