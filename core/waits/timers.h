// The timers of .NET: what is going to run, and when.
// Source: dotnet/runtime src/libraries/System.Private.CoreLib/src/System/Threading/Timer.cs.
#pragma once

#include "core/objects/object_reader.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace clr {

struct TimerState {
  Address object = 0; // TimerQueueTimer
  // Milliseconds of the system's clock (Environment.TickCount64) when it was set, and from then until it is
  // due.
  std::uint64_t set_at = 0, due_ms = 0;
  std::optional<std::uint64_t> period_ms; // nothing: it runs once
  Address callback = 0;                   // the delegate that it calls
  Address state = 0;                      // what the delegate is given
  SharedText state_type;                  // "System.Threading.Tasks.Task.DelayPromise"; "" for null
};

struct Timers {
  std::vector<TimerState> timers; // the one that is due first comes first
  // A time that the clock has reached: the last that a timer was set at. Nothing: there are no timers.
  std::optional<std::uint64_t> reached;
  std::vector<std::string> problems; // lists that could not be read to their ends
};

// The timers of all queues, those that the queues have taken out apart. Throws Error{unsupported_contract}
// when this version keeps no such queues, and Error{memory_missing}. Cost: some 10 reads for each timer.
Timers read_timers(ObjectReader& objects);

// The same of the array of queues at `queues`. Throws Error when it is no array.
Timers read_timers(ObjectReader& objects, Address queues);

constexpr std::size_t max_timers = 2'000'000;
constexpr std::uint32_t max_timer_queues = 4'096; // one for each processor

} // namespace clr
