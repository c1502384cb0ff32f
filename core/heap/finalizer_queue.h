// Objects with a finalizer that has not run.
// Source: dotnet/runtime src/coreclr/gc/gcpriv.h (CFinalize); measured on 8.0.0 to 10.0.14.
#pragma once

#include "core/heap/heap_map.h"

#include <string>
#include <vector>

namespace clr {

struct FinalizerQueue {
  struct Registered {
    Address object = 0;
    HeapPart part = HeapPart::gen0; // by the queue, which the collector keeps up to date when it collects
  };
  struct Ready {
    Address slot = 0, object = 0;
    bool critical = false; // its finalizer runs behind the others
  };
  std::vector<Registered> registered; // their finalizers run once they are found dead
  std::vector<Ready> ready;           // dead: their finalizers wait for the finalizer thread
  std::vector<std::string> problems;  // also that there are more than the limits below
};

// Of all heaps. A queue that cannot be read, or whose pointers do not follow each other, costs itself. Cost:
// 1 read for each heap, and 1 for each 8,192 objects.
FinalizerQueue read_finalizer_queue(const Target& target, const GcState& state);

// Objects of all heaps: those that are registered, and those that are ready, which are roots besides and take
// 15 times their bytes in the core.
constexpr std::size_t max_finalizable = 1 << 24, max_ready = 1 << 22;

} // namespace clr
