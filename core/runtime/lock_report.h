// Locks and waits of one stop, for people and scripts: the table of core/waits with names, lines and words.
#pragma once

#include "core/runtime/async_names.h"
#include "core/runtime/stack_reporter.h"
#include "core/runtime/wait_objects.h"
#include "core/waits/deadlock.h"
#include "core/waits/lock_table.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace clr {

class LockReporter {
public:
  struct ThreadStart {
    std::uint64_t os_id = 0;
    unsigned index = 0; // the debugger's number of the thread; 0: it has none
    std::string name;   // that the system gives it
    RegisterContext registers;
  };
  using Threads = std::function<std::vector<ThreadStart>()>;
  using Objects = std::function<WaitObjects&()>;

  // `runtime` must have a target; all must outlive this. No reads. `objects` may throw Error: then the stacks
  // alone tell.
  LockReporter(Runtime& runtime, Objects objects, StackReporter& stacks, Threads threads);
  ~LockReporter();

  // Kept. Throws Error{interrupted}. Cost: one walk over the heap, all stacks, and that of read_lock_table.
  const LockTable& table(const HeapWalkOptions& options = {});
  // The same without a walk over the heap, unless one was made already. Then locks that nobody waits for are
  // missing, and what a few threads wait for is not known: those in WaitAny and WaitAll of handles. Kept.
  // Cost: all stacks, and some 10 reads for each thread.
  const LockTable& table_by_stacks();
  // Whether a walk over the heap would tell no more of what threads wait for. No reads but some types.
  bool stacks_tell_all();

  // Kept. Throws and costs as table().
  const WaitEdges& edges(const HeapWalkOptions& options = {});
  const std::vector<Deadlock>& deadlocks(const HeapWalkOptions& options = {});

  // What follows answers from the table that was read last. Never throws.

  // The wait of a thread; null for a thread that the runtime does not know.
  const ThreadWait* wait_of(std::uint64_t os_id) const;

  // "Ns.Cache", "System.Threading.Lock"; of a class that is being initialised the class.
  std::string type_of(const LockState& state);
  // "thread #9 'worker'", without a number of the debugger's "thread 4711".
  std::string thread_text(std::uint64_t os_id) const;
  std::string holder_text(const LockHolder& holder) const;
  // "held by thread #9 'worker'", "read by 2 threads", "held by nobody"; "" for locks that nobody owns.
  std::string owner_text(const LockRow& row) const;
  // What a thread waits for: "the lock of Ns.Cache 0x7f…, held by thread #9 'worker'"; "" when it runs or
  // when nothing is known. Whether that is certain is for the caller to say.
  std::string wait_text(const ThreadWait& wait);
  // "the lock of Ns.Cache 0x7f…" without its owner; `wait` is that of a thread that waits for it, or null.
  std::string object_text(const WaitedObject& object, const ThreadWait* wait = nullptr);
  // Of a task of an async method " at Program.cs:41:9", the await at which it stands; "" of any other, and
  // when the heap was not walked.
  std::string task_place(Address task);
  // The innermost frame of the user's code, else of managed code; null when the thread has none.
  std::shared_ptr<const MethodAnswer> place_of(const ThreadWait& wait);
  // Whether a thread waits in a loop of the user's code: one of its innermost max_loop_frames methods there
  // calls the next one, or the framework, in a loop. Never throws.
  bool waits_in_loop(std::uint64_t os_id);
  static constexpr std::size_t max_loop_frames = 3;
  // "Ns.Type.Run() at Program.cs:41:9"; "" when the thread has no managed frame.
  std::string place_text(const ThreadWait& wait);

  unsigned index_of(std::uint64_t os_id) const;
  // What the runtime knows of a thread; null for one that it does not know.
  const RuntimeThread* runtime_thread(std::uint64_t os_id) const { return stacks_->thread_of(os_id); }
  // Whether the method `token` of a module stands on the stack of a thread. Never throws.
  bool has_frame_of(std::uint64_t os_id, Address module, std::uint32_t token);
  Runtime& runtime() { return *runtime_; }

private:
  void read_starts();
  std::vector<ThreadStack> read_stacks();
  // Sets what finds the waits and stacks of known() by their threads.
  void index_known();
  // Null without a heap.
  LockIndex* read_heap(const HeapWalkOptions& options);
  std::string async_method(Address task);
  std::string readers_text(const LockRow& row) const;
  std::string owned_text(const WaitedObject& object, const ThreadWait& wait);
  const ThreadStart* start_of(std::uint64_t os_id) const;
  const ThreadStack* stack_of(std::uint64_t os_id) const;
  void note(std::string text);
  const LockTable& known() const { return table_ ? *table_ : *by_stacks_; }

  // Managed frames of one stack whose references are looked at: those of a wait are the innermost.
  static constexpr std::size_t max_root_frames = 64;
  // Frames of all threads together that are kept: thousands of threads may stand on one stack. Each thread
  // has its share of what those before it have left: of 10,000 threads max_root_frames at least.
  static constexpr std::size_t max_kept_frames = 640'000;
  // References of one thread, and of all together, that are kept: a frame has some ten of them.
  static constexpr std::size_t max_thread_roots = 100'000, max_kept_roots = 2'000'000;

  Runtime* runtime_;
  Objects objects_;
  StackReporter* stacks_;
  Threads threads_;
  std::vector<ThreadStart> starts_;
  // By os_id: what a wait is told with is looked for once for each that waits.
  std::unordered_map<std::uint64_t, std::size_t> start_at_, wait_at_, stack_at_;
  mutable std::optional<bool> all_threads_known_; // each with its numbers
  WaitObjects* waits_ = nullptr;                  // null: the heap was not walked
  std::optional<LockTable> table_, by_stacks_;
  std::optional<WaitEdges> edges_;
  std::optional<std::vector<Deadlock>> deadlocks_;
  std::vector<std::string> notes_;
  AsyncNames async_names_;
  std::optional<TypeLineages> lineages_; // where no heap was walked
};

} // namespace clr
