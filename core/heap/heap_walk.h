// All of the heap, gone through by several threads.
#pragma once

#include "core/heap/heap_walker.h"

#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace clr {

// Takes the objects that one of the threads finds. Only that thread calls it.
class HeapSink {
public:
  virtual ~HeapSink() = default;
  // The objects that follow lie in the range of this number.
  virtual void begin(std::size_t range) = 0;
  virtual void add(std::span<const HeapObject> objects) = 0;
};

struct HeapWalkOptions {
  // Told from time to time how many bytes of how many were gone through, by the thread that called
  // walk_heap; false interrupts the walk. May be empty.
  std::function<bool(std::uint64_t done, std::uint64_t of)> progress;
};

struct HeapWalkResult {
  std::vector<HeapGap> gaps; // ascending
  bool interrupted = false;
};

// Walks `ranges`, which are of `map`, with a thread for each of `sinks`; the caller's is one of them. The
// order in which a thread gets its ranges is ascending. Cost: that of HeapWalker::walk for each range.
HeapWalkResult walk_heap(const HeapMap& map, HeapTypes& types, std::span<const HeapRange> ranges,
                         std::span<const std::unique_ptr<HeapSink>> sinks,
                         const HeapWalkOptions& options = {});

// What is to be learned of all objects. Several works share a walk.
class HeapWork {
public:
  virtual ~HeapWork() = default;
  // For one of the threads.
  virtual std::unique_ptr<HeapSink> sink() = 0;
  // What its sinks have found, when the walk is over.
  virtual void end(std::span<const std::unique_ptr<HeapSink>> sinks, const HeapWalkResult& walked) = 0;

  std::exception_ptr failure; // why it could not be done; null when it was
};

// Does `works` in one walk over all ranges. One that throws is left out from there on, and keeps its failure.
// Cost: that of walk_heap.
HeapWalkResult walk_heap(const HeapMap& map, HeapTypes& types, std::span<HeapWork* const> works,
                         const HeapWalkOptions& options, unsigned threads);

// Calls `act` with each number below `count`, by so many threads; the caller's is one of them. What `act`
// throws is thrown when all have ended. No reads of its own.
void share_out(std::size_t count, unsigned threads, const std::function<void(std::size_t)>& act);

// The number of threads that can walk at the same time: of the processors that this process may use. Opens no
// file, as the standard library does to count them: nothing of /sys belongs to what a core makes a debugger
// open.
unsigned heap_threads();

constexpr unsigned max_heap_threads = 16;

} // namespace clr
