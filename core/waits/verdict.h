// What kind of trouble a process is in, decided by what its threads wait for.
#pragma once

#include "core/waits/deadlock.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace clr {

// The gravest first.
enum class Verdict : std::uint8_t { crash, deadlock, memory, starvation, waiting, busy, healthy, unknown };
std::string_view to_string(Verdict verdict); // words of JSON

// The threads of a table by what they do. Threads that run no code but the framework's are in none of the
// lists; nor is the main thread (number 1 of the runtime), which waits in healthy programs, too, unless it
// runs.
struct ThreadUses {
  // Indexes in LockTable::waits.
  std::vector<std::size_t> running; // user code, or native code that it called
  std::vector<std::size_t> outside; // in native code, in a call of the system
  std::vector<std::size_t> blocked; // for a lock, a task, a thread or a class; in a request also for a signal
  std::vector<std::size_t>
      parked;              // for a signal that anybody may give: events, semaphores, conditions; asleep
  std::size_t unknown = 0; // threads of which nothing is known
};
ThreadUses thread_uses(const LockTable& table);

// The heap beside its limit, in bytes.
struct HeapFill {
  std::uint64_t limit = 0;     // its hard limit
  std::uint64_t committed = 0; // what it has of the system
  std::uint64_t survived = 0;  // objects that a collection has left: those outside of generation 0
};
// Whether memory is the trouble although no allocation has failed yet. An allocation fails before the heap is
// full: the collector's tables count for the limit, too, memory is committed in steps, and a large object
// needs its place in one piece. Measured with .NET 10 in 27 heaps of 64 and 200 MB, filled by objects of 100
// bytes to 20 MB with the workstation's and the server's collector: the first allocation failed when objects
// filled 87 to 99 % of the limit, and committed memory 90 to 100 %. So it may fail from 85 % on. New objects
// are no sign: a healthy heap fills its limit with garbage before it collects.
bool is_near_limit(const HeapFill& heap);

struct VerdictFacts {
  bool crashed = false;       // a thread has failed
  bool out_of_memory = false; // an OutOfMemoryException is in flight, or the heap has come to its limit
  bool starved = false;       // the thread pool cannot begin what is queued
  bool deadlocked = false;
  std::size_t waiting_chains = 0; // of async methods, to which somebody owes an answer or a signal
};
// All that apply, the gravest first; never empty.
std::vector<Verdict> decide(const VerdictFacts& facts, const ThreadUses& uses);

} // namespace clr
