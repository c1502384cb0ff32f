// A thread that the debugger lets run alone may wait for others, which stand: the runtime stops threads by a
// signal when it collects garbage, and the thread goes on when that is done. LLDB lets a step's thread run
// alone through code without lines, and through any when a client of its API steps, whatever the settings
// say.
#pragma once

#include "extension/lldb/thread_stop.h"

#include <lldb/API/LLDB.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <thread>
#include <vector>

namespace clr::lldb_plugin {

// Looks for such a wait, by a thread of its own, and breaks it off: stops the process by a signal that the
// program does not get. Only for processes of this host on Linux.
class LoneRun {
public:
  explicit LoneRun(lldb::SBTarget target) : target_(target) {}
  ~LoneRun() { quit(); }
  LoneRun(const LoneRun&) = delete;
  LoneRun& operator=(const LoneRun&) = delete;

  // Before the process runs with a step.
  void watch();
  // The step has ended.
  void rest();
  // No process any more.
  void quit();

  // At a stop: takes the reason of threads that stand for nothing but this out of `stops`, and returns them,
  // at each stop once.
  std::vector<std::uint64_t> take(std::span<ThreadStop> stops);
  // The last stop was taken, and nobody else has a reason for it: the process is to go on.
  bool goes_on(std::span<const ThreadStop> stops) const;

  static constexpr std::size_t max_threads = 10'000;

private:
  void run();
  void look();
  void see_stop();

  lldb::SBTarget target_;
  std::thread thread_;
  std::mutex mutex_; // of all below
  std::condition_variable changed_;
  bool watches_ = false, quits_ = false;
  std::uint64_t process_ = 0;
  std::uint64_t alone_ = 0; // the thread that runs alone; 0: none
  unsigned seen_ = 0;       // looks since it does
  // Threads that got the signal, and whether they stopped for it: they tell so until they run again.
  std::map<std::uint64_t, bool> sent_;
  std::set<std::uint64_t> here_; // that stand for it at this stop
  std::uint32_t last_stop_ = 0;
};

} // namespace clr::lldb_plugin
