// Chains of async methods with the names and lines of their awaits, equal ones merged.
#pragma once

#include "core/runtime/async_names.h"
#include "core/runtime/stack_reporter.h"
#include "core/runtime/stack_rows.h"
#include "core/runtime/wait_objects.h"
#include "core/waits/async_awaited.h"
#include "core/waits/async_chains.h"
#include "core/waits/async_stacks.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace clr {

struct AsyncFrame {
  std::shared_ptr<const AwaitPosition> position; // never null
  std::int32_t state = 0;
  Address box = 0;
};

struct AsyncStack {
  std::vector<AsyncFrame> frames; // of the first of them; the method that waits for no method first
  std::vector<Address> boxes;     // the first box of each
  std::size_t count() const { return boxes.size(); }
  Awaited waits_for; // `object` only when all wait for the same
  AsyncChain::End end = AsyncChain::End::nobody;
  Address blocker = 0;                // of the first of them
  std::optional<std::uint64_t> os_id; // the thread that waits for the first of them
  bool no_beginning = false;
  bool plumbing = false; // only methods of .NET's own libraries
  // When the oldest of them began to wait, in milliseconds of the system's clock (Environment.TickCount64):
  // by the timer of a delay or timeout, or by the start of the request that ASP.NET noted. Nothing: nobody
  // noted it; tasks do not.
  std::optional<std::uint64_t> since_ms;
  std::optional<std::uint64_t> age_ms; // at least; nothing in other lists than AsyncReport's
};

struct AsyncQuery {
  bool each = false;                 // do not merge
  bool tops = false;                 // merge those with the same last method
  std::string glob;                  // a method of the chain has this name; empty: all
  std::optional<Address> waiting_on; // the object that is waited for, or a box of the chain
};

struct AsyncReport {
  std::vector<AsyncStack> stacks;       // the largest count first
  std::size_t chains = 0, plumbing = 0; // of all; `plumbing` of them are so
  std::size_t boxes = 0;                // of methods that have not ended
  std::size_t unreadable = 0;
  std::string first_fault; // why the first of these is
  bool left_out = false, interrupted = false;
};

// A task that failed.
struct FaultedTask {
  Address task = 0;
  std::string type;                     // of the task
  std::shared_ptr<const Method> method; // whose task it is; null: none that is known
  Address exception = 0;                // the first; 0: not known
  std::string exception_type, message;
  std::string fault;     // why parts are missing
  bool observed = false; // somebody asked for the failure
};

// The async methods beside the stack of one thread.
struct AsyncBeside {
  // Of a frame in which an async method runs that has waited before: those that wait for it. The first frame
  // of each chain is the method itself.
  struct Callers {
    unsigned frame = 0; // its index
    std::vector<AsyncStack> chains;
  };
  std::vector<Callers> callers;
  std::vector<AsyncStack> waits_for; // chains whose last method the thread waits for
};
constexpr std::size_t max_reported_frames = 300'000; // of all stacks of one report
constexpr std::size_t max_running_frames = 1'000;    // of one stack, in which async methods are looked for
// Threads that are looked at for methods that could go on, of all chains together.
constexpr std::size_t max_runner_steps = 50'000'000;

class AsyncReporter {
public:
  // `objects` must outlive this. No reads.
  explicit AsyncReporter(WaitObjects& objects) : objects_(&objects), names_(objects.runtime()) {}
  // The threads of this stop, by whose stacks it is known which of them waits for a chain.
  void set_threads(std::vector<ThreadTop> threads) { threads_ = std::move(threads); }
  // By which it is known what runs of methods that the runtime suspended; it must outlive this.
  void set_stacks(StackReporter& stacks) { stacks_ = &stacks; }

  // The chains that `query` selects. Throws Error{unsupported_contract, ...} when the heap cannot be walked.
  // Cost: that of WaitObjects::async, async_chains and AwaitedReader::of; for each await its method and line.
  AsyncReport stacks(const AsyncQuery& query, const HeapWalkOptions& options = {});
  // Visits every chain, with its names and what its first method waits for. Throws and costs as stacks().
  // `stack` is not merged with others.
  void for_each_chain(const HeapWalkOptions& options,
                      const std::function<void(const AsyncChain& chain, const AsyncStack& stack)>& visit);
  // There are more chains than for_each_chain visited, or objects that the walk did not come to.
  bool left_out(const HeapWalkOptions& options = {});
  // Tasks whose methods failed, the forgotten ones first.
  std::vector<FaultedTask> faulted(const AsyncQuery& query, const HeapWalkOptions& options = {});

  // What goes on beside the frames `rows` of the thread `thread`. Cost: that of stacks(), the first time.
  AsyncBeside beside(const ThreadTop& thread, const std::vector<FrameRow>& rows,
                     const HeapWalkOptions& options = {});

  // The methods of this stop that wait and run: those of one walk, even if it was interrupted, since chains
  // refer to them. Throws and costs as WaitObjects::async, the first time.
  AsyncGraph& graph(const HeapWalkOptions& options = {});
  // The chain that the method in `box` is part of, the first of several; null: none. No reads once the chains
  // are known.
  const AsyncChain* chain_of(const AsyncBox& box, const HeapWalkOptions& options = {});
  std::shared_ptr<const AwaitPosition> position(const AsyncBox& box) { return names_.position(box); }
  const std::vector<ThreadTop>& threads() const { return threads_; }
  WaitObjects& objects() { return *objects_; }

private:
  // Of one thread: places of its stack that lead to a method that runs, ascending, by the method's number.
  using RunningPlaces = std::unordered_map<std::uint32_t, std::vector<std::pair<Address, const AsyncBox*>>>;
  void note_running(AsyncGraph& graph);
  RunningPlaces running_on(const ThreadTop& thread, AsyncGraph& graph);
  const AsyncBox* running_in(const FrameRow& row, const RunningPlaces& places) const;
  const AsyncChains& chains(AsyncGraph& graph);
  AsyncStack stack_of(const AsyncChain& chain, AwaitedReader& awaited);
  std::optional<std::uint64_t> request_start(const AsyncChain& chain, const AsyncStack& stack);
  void find_threads(AsyncGraph& graph);
  void note_runners(AsyncGraph& graph);
  void find_runner(AsyncStack& stack, const AsyncChain& chain);

  WaitObjects* objects_;
  AsyncNames names_;
  AsyncGraph* graph_ = nullptr;
  std::vector<ThreadTop> threads_;
  StackReporter* stacks_ = nullptr;
  std::optional<std::unordered_multimap<Address, std::uint64_t>> runners_; // threads by MethodDescs of frames
  std::unordered_map<Address, std::vector<std::uint64_t>> holders_;        // see find_task_holders
  std::size_t runner_steps_left_ = max_runner_steps;
  std::optional<AsyncChains> chains_;
  std::unordered_map<Address, std::uint64_t> blocked_; // os_id by the object with which a thread waits
  std::unordered_map<std::uint64_t, std::vector<const AsyncChain*>> chains_by_thread_; // that waits, by os_id
  // Methods that run, by module and token of MoveNext: their numbers; and what words of stacks may be their
  // boxes, by the words.
  std::map<std::pair<Address, std::uint32_t>, std::uint32_t> running_methods_;
  struct RunningWord {
    Address word = 0;
    std::uint32_t method = 0;
    const AsyncBox* box = nullptr;
  };
  std::vector<RunningWord> running_words_;
  std::unordered_set<Address> running_set_;
  bool running_noted_ = false;
};

// Who waits for the last method of a chain, for people; empty for nobody.
std::string end_text(const AsyncStack& stack);
// "nobody", "async_void", "thread", "loop", "limit".
std::string_view to_string(AsyncChain::End end);

} // namespace clr
