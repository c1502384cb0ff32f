// The thread pool and the timers, with the names of the methods that they are going to call.
#pragma once

#include "core/runtime/runtime.h"
#include "core/waits/thread_pool.h"
#include "core/waits/timers.h"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace clr {

struct PoolGroup {
  PoolQueue queue = PoolQueue::global;
  SharedText method; // that the items run; of an item that is no delegate and no async method its type
  std::size_t count = 0;
};

struct PoolReport {
  ThreadPoolState state;
  std::vector<PoolGroup> groups; // the largest first
  // Items are queued, and no thread is free to take one: all that the pool lets run are running.
  bool starved() const;
};

// The items by their queues and names, the largest group first. `name_of` is called once for each object, in
// the order of the addresses. Where it throws Error, the group is called by the reason in angle brackets;
// behind max_unnamed_items of these it is not called any more, and what is left of each queue is one group.
// No reads but its own.
std::vector<PoolGroup> group_items(std::span<const PoolItem> items,
                                   const std::function<SharedText(Address)>& name_of);

// Objects of items that have no name, each of which costs an exception.
constexpr std::size_t max_unnamed_items = 20'000;

// Nothing: the program has not used its pool. Throws Error when there is no runtime that can be read. Cost:
// that of read_thread_pool; for each object of an item some 10 reads and its name.
std::optional<PoolReport> report_pool(Runtime& runtime);

struct TimerRow {
  TimerState timer;
  SharedText callback; // the method
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
