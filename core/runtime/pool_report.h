// The thread pool and the timers, with the names of the methods that they are going to call.
#pragma once

#include "core/runtime/runtime.h"
#include "core/waits/thread_pool.h"
#include "core/waits/timers.h"

#include <optional>
#include <string>
#include <vector>

namespace clr {

struct PoolGroup {
  PoolQueue queue = PoolQueue::global;
  std::string method; // that the items run; of an item that is no delegate and no async method its type
  std::size_t count = 0;
};

struct PoolReport {
  ThreadPoolState state;
  std::vector<PoolGroup> groups; // the largest first
  // Items are queued, and no thread is free to take one: all that the pool lets run are running.
  bool starved() const;
};

// Nothing: the program has not used its pool. Throws Error when there is no runtime that can be read. Cost:
// that of read_thread_pool, and the name of each method once.
std::optional<PoolReport> report_pool(Runtime& runtime);

struct TimerRow {
  TimerState timer;
  std::string callback; // the method
  // At most so many milliseconds are left: the clock may have gone on since the last timer was set. Negative:
  // it is overdue.
  std::int64_t left_ms = 0;
};

struct TimerReport {
  std::vector<TimerRow> rows; // the one that is due first comes first
  std::vector<std::string> problems;
};

// Throws Error as read_timers does, and when there is no runtime. Cost: that of read_timers, and a name each.
TimerReport report_timers(Runtime& runtime);

} // namespace clr
