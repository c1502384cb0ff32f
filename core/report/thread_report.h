// The runtime's threads, each with its exception.
#pragma once

#include "core/report/exception_report.h"
#include "core/report/json.h"
#include "core/runtime/lock_report.h"
#include "core/stack/threads.h"

#include <optional>
#include <string>

namespace clr {

struct ThreadReport {
  const RuntimeThread* thread = nullptr;
  unsigned index = 0; // the debugger's number of the thread; 0: the debugger has no such thread
  std::optional<ExceptionReport> exception; // the one in flight, else the last that was thrown
  bool in_flight = false;
  std::string problem; // why exceptions in flight may be missing; empty when none is

  // What of the thread and its exceptions could not be read; empty when everything could.
  std::string fault() const;
};

// `thread` must outlive the result. An exception that cannot be read is reported by its address and a fault.
// Never throws. Cost: that of ExceptionReporter::of_thread and summary.
ThreadReport report_thread(const RuntimeThread& thread, unsigned index, ExceptionReporter& exceptions);

// "worker (background) exception System.Exception 0x7f…": name, state and exception, as far as there are any.
std::string thread_words(const ThreadReport& report);
// "waits for the lock of Ns.Cache 0x7f…", "sleeps", "runs"; "" when nothing is known.
std::string wait_words(const ThreadWait& wait, LockReporter& locks);

Json to_json(const ThreadReport& report);

} // namespace clr
