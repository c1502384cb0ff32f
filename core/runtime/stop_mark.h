// Where the threads and async methods of a process stood at one stop, to be compared with another one: that
// alone tells a hang from a wait.
#pragma once

#include "core/heap/heap_map.h"
#include "core/runtime/async_waiting.h"
#include "core/waits/verdict.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace clr {

struct ThreadMark {
  enum class Use : std::uint8_t { blocked, outside, running, other };
  std::uint64_t os_id = 0;
  std::uint64_t place = 0; // equal when all frames have the same pc and the same stack pointer
  Use use = Use::other;
};

struct StopMark {
  std::vector<ThreadMark> threads; // that the runtime knows
  std::vector<ChainMark> chains;   // that are owed something
  // Parts of the heap, by which it is seen whether a collection moved objects.
  std::vector<std::pair<Address, HeapPart>> ranges;
};

// No reads. `chains` are those of AsyncWaiting; `map` is null without a heap.
StopMark mark_stop(const LockTable& table, const ThreadUses& uses, std::vector<ChainMark> chains,
                   const HeapMap* map);

struct StopChange {
  enum class Finding : std::uint8_t {
    nothing, // nobody waited
    hang,    // most of those that waited have not moved
    wait,    // they have
  };
  struct Count {
    std::size_t stood = 0, moved = 0; // of those of the first stop
    std::size_t all() const { return stood + moved; }
  };
  Count blocked, outside, running; // threads
  Count chains;
  // Chains among those that stood of which that is not certain: a collection has moved objects, and equal
  // ones stand where they stood.
  std::size_t perhaps = 0;
  bool collected = false;
  Finding finding = Finding::nothing;
};
std::string_view to_string(StopChange::Finding finding); // words of JSON

StopChange compare(const StopMark& before, const StopMark& after);

} // namespace clr
