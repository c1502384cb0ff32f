// Chains of async methods with the names and lines of their awaits, equal ones merged.
#pragma once

#include "core/runtime/wait_objects.h"
#include "core/waits/async_awaited.h"
#include "core/waits/async_chains.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace clr {

// An await of a method.
struct AwaitPosition {
  std::shared_ptr<const Method> method; // never null
  std::optional<SourceLine> source;     // of the await; nothing: it is not known where the method waits
  // The await is the one that the end of an `await using` or `await foreach` implies; the line is that of the
  // declaration.
  bool dispose = false;
  bool framework = false; // the method is of .NET's own libraries
};

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
  Address blocker = 0; // of the first of them
  bool no_beginning = false;
  bool plumbing = false; // only methods of .NET's own libraries
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

class AsyncReporter {
public:
  // `objects` must outlive this. No reads.
  explicit AsyncReporter(WaitObjects& objects) : objects_(&objects) {}

  // The chains that `query` selects. Throws Error{unsupported_contract, ...} when the heap cannot be walked.
  // Cost: that of WaitObjects::async, async_chains and AwaitedReader::of; for each await its method and line.
  AsyncReport stacks(const AsyncQuery& query, const HeapWalkOptions& options = {});
  // Tasks whose methods failed, the forgotten ones first.
  std::vector<FaultedTask> faulted(const AsyncQuery& query, const HeapWalkOptions& options = {});

  // The method of a state machine and the line of its await number `state`. Kept.
  std::shared_ptr<const AwaitPosition> position(const MachineShape& shape, std::int32_t state);

private:
  AwaitPosition read_position(const MachineShape& shape, std::int32_t state);
  std::shared_ptr<const Method> method_of(const MachineShape& shape);
  AsyncStack stack_of(const AsyncChain& chain, AwaitedReader& awaited);

  WaitObjects* objects_;
  std::map<std::pair<const MachineShape*, std::int32_t>, std::shared_ptr<const AwaitPosition>> positions_;
  std::map<const MachineShape*, std::shared_ptr<const Method>> methods_;
};

// "WaitsProgram.Simple.Delay() [async] at Simple.cs:41:9".
std::string text_of(const AwaitPosition& position);
// "nobody", "async_void", "thread", "loop", "limit".
std::string_view to_string(AsyncChain::End end);

} // namespace clr
