// Who goes on when what is done: the boxes of waiting async methods, tasks, and what leads from one to the
// other. Fields are found by their names.
// Source: dotnet/runtime src/libraries/System.Private.CoreLib/src/System/Threading/Tasks (Task.cs,
// TaskContinuation.cs), System/Threading/Tasks/Sources/ManualResetValueTaskSourceCore.cs.
#pragma once

#include "core/waits/async_objects.h"
#include "core/waits/continuations.h"
#include "core/waits/heap_pass.h"

#include <algorithm>
#include <span>
#include <vector>

namespace clr {

// A box whose method has not ended; or a continuation of a method that the runtime itself suspended.
struct AsyncBox {
  Address object = 0;
  Address machine = 0;                 // its first field; 0 for a continuation
  const MachineShape* shape = nullptr; // never null; of a continuation one that says nothing
  const ResumePoint* resume = nullptr; // of a continuation; else null
  std::int32_t state = 0;
  bool waits = false;  // at an await; else it runs, or has not waited yet
  Address awaited = 0; // by its awaiter; 0: the awaiter holds nothing, or is not known
  bool awaiter_known = false;
  bool runs() const { return state == -1; }
  const MachineAwait* await() const; // null when it waits at none that is known
};

struct AsyncEdge {
  Address from = 0, to = 0;
  bool operator==(const AsyncEdge&) const = default;
};

class AsyncGraph {
public:
  // What `pass` must be asked for; returns the index of the first of class_count in its result.
  static std::size_t want(HeapPass& pass);
  static constexpr std::size_t class_count = 5;

  // Reads the boxes and tasks that the pass found, `first` being what want() returned. `objects` and
  // `lineages` must outlive this. An object that cannot be read is left out and counted. Throws nothing for
  // target data. Cost: some 4 reads for each task that is not done, and as many for each box.
  AsyncGraph(ObjectReader& objects, TypeLineages& lineages, const HeapPassResult& found, std::size_t first);

  std::span<const AsyncBox> boxes() const { return boxes_; } // by addresses
  const AsyncBox* box(Address object) const;
  // What goes on when `object` is done: boxes, tasks, and objects that a thread waits with.
  std::span<const AsyncEdge> waiters(Address object) const; // `to`
  // What `object` waits for.
  std::span<const AsyncEdge> awaited(Address object) const; // `to`
  // The box of a state machine that is an object of its own, `object` otherwise.
  Address box_of(Address object) const;
  // An object with which a thread waits for tasks, and all of them.
  bool is_blocker(Address object) const { return std::ranges::binary_search(blockers_, object); }
  std::span<const Address> blockers() const { return blockers_; }

  std::span<const Address> faulted() const { return faulted_; } // tasks that failed
  std::span<const FoundObject> semaphores() const { return semaphores_; }
  std::span<const FoundObject> channels() const { return channels_; }
  std::size_t unreadable() const { return unreadable_; }
  const std::string& first_fault() const { return first_fault_; } // why the first of those is
  // Continuations of a task that has too many, or of all tasks, which have more than most_links(); or what
  // continuations of the runtime's own methods keep, which has the same limit, and
  // Continuations::max_all_held.
  bool left_out() const { return left_out_; }
  static constexpr std::size_t most_links(std::size_t tasks) { return max_shared_links + 8 * tasks; }
  static constexpr std::size_t max_shared_links = 1'000'000; // of all tasks, and 8 for each task
  AsyncObjects& kinds() { return kinds_; }

private:
  void read_interpreted(AsyncBox& box, Address info);
  void add_box(Address object, const BoxShape& shape);
  void add_own_boxes(std::span<const FoundObject> found);
  void drop_left_copies();
  void add_builder_edges();
  void add_suspended(Address task);
  void add_edge(Address awaited, Address waiter);

  // A task, and the continuations behind it that go on first and last.
  struct Suspended {
    Address task = 0, first = 0, last = 0;
  };

  AsyncObjects kinds_;
  Continuations continuations_;
  MachineShape continuation_shape_;
  std::vector<Suspended> suspended_; // by tasks
  std::vector<AsyncEdge> links_;     // from each continuation to the next
  std::vector<AsyncBox> boxes_;
  std::vector<std::pair<Address, Address>> machines_; // machine, box
  std::vector<AsyncEdge> up_, down_;                  // sorted
  // Machines that may be copies which a builder has left behind, and those that something leads to.
  std::vector<Address> copies_, reached_;
  std::vector<Address> faulted_, blockers_;
  std::vector<FoundObject> semaphores_, channels_;
  std::size_t unreadable_ = 0;
  std::string first_fault_;
  bool left_out_ = false;
};

} // namespace clr
