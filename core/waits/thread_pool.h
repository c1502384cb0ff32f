// The thread pool of .NET: its workers, and what is queued for them.
// Source: dotnet/runtime src/libraries/System.Private.CoreLib/src/System/Threading (ThreadPoolWorkQueue.cs,
// PortableThreadPool.cs, PortableThreadPool.ThreadCounts.cs).
#pragma once

#include "core/objects/object_reader.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace clr {

enum class PoolQueue : std::uint8_t { global, local, high_priority, low_priority };
std::string_view to_string(PoolQueue queue); // "high_priority"

struct PoolItem {
  PoolQueue queue = PoolQueue::global;
  Address object = 0;
};

struct ThreadPoolState {
  // Nothing: this version does not keep the number where it is looked for.
  std::optional<unsigned> processing; // threads that run items, those among them that are blocked
  std::optional<unsigned> existing, goal, minimum, maximum;
  std::optional<unsigned> blocked;   // threads that the pool knows to be blocked in a task
  std::vector<PoolItem> items;       // those first that are taken first from their queue
  bool left_out = false;             // there are more than max_pool_items, or max_pool_slots
  std::vector<std::string> problems; // queues and numbers that could not be read, the first ones
};

// Nothing: the program has not used its pool. Throws Error for missing memory. Cost: some 20 reads, and 3 for
// each slot of a queue, max_pool_slots at most.
std::optional<ThreadPoolState> read_thread_pool(ObjectReader& objects);

// The last time at which the thread pool noted that it took an item, in milliseconds of the system's clock
// (Environment.TickCount64); it keeps the lower half alone, so a `near` time is wanted. 0: not known. Never
// throws. Cost: some 10 reads.
std::uint64_t pool_clock(ObjectReader& objects, std::uint64_t near);

// Where the pool's objects are; 0: there is none.
struct ThreadPoolPlaces {
  Address pool = 0;  // PortableThreadPool
  Address queue = 0; // ThreadPoolWorkQueue
  Address local = 0; // the array of the queues of threads
};
constexpr std::size_t max_pool_items = 2'000'000;
// Slots of all queues together, those without an item included: thousands of queues may share a part that
// says it has any number of slots, all empty. Twice as many as there may be items.
constexpr std::size_t max_pool_slots = 4'000'000;
constexpr std::size_t max_pool_problems = 50;
constexpr std::uint32_t max_pool_queues = 65'536; // local ones, and those that some threads share

// Looks at `slots` slots at most.
ThreadPoolState read_thread_pool(ObjectReader& objects, const ThreadPoolPlaces& places,
                                 std::size_t slots = max_pool_slots);

} // namespace clr
