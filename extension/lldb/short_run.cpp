#include "extension/lldb/short_run.h"

#include "core/memory/error.h"
#include "extension/lldb/interrupt_signal.h"
#include "extension/lldb/newer_api.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace clr::lldb_plugin {

std::chrono::duration<double> run_for(lldb::SBDebugger& debugger, lldb::SBProcess& process,
                                      std::chrono::duration<double> time) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  std::mutex mutex;
  std::condition_variable changed;
  bool over = false;
  const InterruptSignal signal;
  // LLDB's call returns when the process stands, so another thread has to stop it. It asks again and again: a
  // request that comes while the process is just being started is lost.
  std::thread watch([&] {
    constexpr std::chrono::milliseconds often(50), again(500);
    std::unique_lock lock(mutex);
    Clock::time_point asked{};
    while (!changed.wait_for(lock, often, [&] { return over; })) {
      const Clock::time_point now = Clock::now();
      const bool wanted = now - begin >= time || signal.came() || interrupt_requested(debugger);
      if (!wanted || now - asked < again) continue;
      asked = now;
      lock.unlock();
      process.SendAsyncInterrupt();
      lock.lock();
    }
  });
  lldb::SBError error;
  {
    const Synchronous synchronous(debugger);
    error = process.Continue();
  }
  const std::chrono::duration<double> ran = Clock::now() - begin;
  {
    const std::scoped_lock lock(mutex);
    over = true;
  }
  changed.notify_all();
  watch.join();
  if (error.Fail()) {
    const char* const why = error.GetCString();
    throw Error(ErrorKind::unsupported_contract, std::string("LLDB cannot let the process run: ") +
                                                     (why == nullptr ? "no reason given" : why));
  }
  return ran;
}

} // namespace clr::lldb_plugin
