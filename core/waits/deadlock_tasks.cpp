#include "core/waits/deadlock_tasks.h"

#include "core/waits/async_chains.h"
#include "core/waits/blocked_run.h"

#include <deque>
#include <map>
#include <unordered_map>
#include <unordered_set>

namespace clr {
namespace {

class TaskWalk {
public:
  TaskWalk(const LockTable& table, AsyncGraph& graph, ObjectReader& objects, MethodNames& names)
      : table_(table), graph_(graph), reader_(objects), names_(names) {}

  std::vector<TaskWait> run() {
    for (const LockRow& row : table_.locks)
      if (row.state.kind == LockKind::task)
        for (const std::size_t waiter : row.waiters) push(row.state.object, table_.waits[waiter].os_id);
    // Methods that wait for each other, though no thread waits for one of them.
    for (const AsyncChain& chain : async_chains(graph_).chains)
      if (chain.no_beginning)
        for (const AsyncBox* const box : chain.boxes) push(box->object, 0);
    if (open_.empty()) return {};
    note_running();
    note_contexts();
    std::vector<TaskWait> waits;
    while (!open_.empty() && waits.size() < max_task_waits) {
      const auto [task, waiter] = open_.front();
      open_.pop_front();
      try {
        if (TaskWait wait = look_at(task, waiter); !wait.tasks.empty() || !wait.threads.empty())
          waits.push_back(std::move(wait));
      } catch (const Error&) {
        continue; // a task that cannot be read leads nowhere
      }
    }
    return waits;
  }

private:
  void push(Address task, std::uint64_t waiter) {
    if (seen_.insert(task).second) open_.emplace_back(task, waiter);
  }

  // Methods of the framework whose frames hold the task that they run.
  static bool runs_task(const std::string& name) {
    return name.find("AsyncStateMachineBox") != std::string::npos ||
           name.starts_with("System.Threading.Tasks.Task.Execute") ||
           (name.starts_with("System.Threading.Tasks.") && name.ends_with(".InnerInvoke"));
  }

  void note_running() {
    for (const ThreadStack& stack : table_.stacks)
      for (const FrameRoots& frame : stack.roots) {
        if (frame.frame >= stack.frames.size() || !stack.frames[frame.frame].code) continue;
        try {
          const std::string name = names_.describe(stack.frames[frame.frame].code->method_desc).name;
          // MoveNext has its state machine: a place within a box, or an object. It may also hold tasks that
          // it started, which others run.
          const bool machine =
              name.ends_with(".MoveNext") && name.find("AsyncStateMachineBox") == std::string::npos;
          if (!machine && !runs_task(name)) continue;
          for (const StackRoot& root : frame.roots)
            (machine ? machines_ : running_).emplace(root.value, stack.os_id);
        } catch (const Error&) {
          continue; // a frame without a name is none that is looked for
        }
      }
  }

  void note_contexts() {
    for (const ThreadStack& stack : table_.stacks) {
      if (stack.thread == nullptr) continue;
      try {
        const Address managed = stack.thread->managed_object;
        if (managed == 0) continue;
        const Address context = reader_.reference(reader_.of_object(managed), "_synchronizationContext");
        if (context == 0) continue;
        // One that only queues to the thread pool binds nothing to its thread.
        const std::string type = framework_type_name(*reader_.of_object(context).layout.name);
        if (type != "System.Threading.SynchronizationContext") contexts_.emplace(context, stack.os_id);
      } catch (const Error&) {
        continue; // a thread whose object cannot be read
      }
    }
  }

  std::vector<std::uint64_t> runners(Address task, const AsyncBox* box) {
    const Address end = task + reader_.of_object(task).layout.table.base_size;
    std::vector<std::uint64_t> threads;
    const auto add = [&](std::uint64_t thread) {
      if (!is_among(threads, thread)) threads.push_back(thread);
    };
    for (auto [at, last] = running_.equal_range(task); at != last; ++at) add(at->second);
    for (auto at = machines_.upper_bound(task); at != machines_.end() && at->first < end; ++at)
      add(at->second);
    // A state machine that is an object of its own.
    if (box != nullptr && (box->machine < task || box->machine >= end))
      for (auto [at, last] = machines_.equal_range(box->machine - reader_.target().pointer_size());
           at != last; ++at)
        add(at->second);
    return threads;
  }

  // A task whose code has ended may wait for those that it began as its children.
  bool runs(Address task) {
    if (!graph_.kinds().lineage(task).derives_from("System.Threading.Tasks.Task")) return false;
    const TaskFlags flags = graph_.kinds().flags(task);
    return flags.running() && !flags.waits_for_children();
  }

  bool waits_for_one(Address task) {
    const TypeLineage& lineage = graph_.kinds().lineage(task);
    if (!lineage.known) return false; // a type that cannot be read
    const std::string& name = lineage.name;
    return name.find("WhenAny") != std::string::npos || name.find("CompleteOnInvoke") != std::string::npos;
  }

  // The thread in whose context the continuation of `awaited` runs; nothing: in none, or not known.
  std::optional<std::uint64_t> context_of(Address awaited) {
    const Address continuation = graph_.kinds().continuation(awaited);
    if (continuation == 0) return std::nullopt;
    const Address context = graph_.kinds().reference(continuation, "m_syncContext");
    const auto found = contexts_.find(context);
    return context == 0 || found == contexts_.end() ? std::nullopt : std::optional(found->second);
  }

  TaskWait look_at(Address task, std::uint64_t waiter) {
    TaskWait wait{.task = task, .tasks = {}, .threads = {}};
    const AsyncBox* const box = graph_.box(task);
    if (box == nullptr ? runs(task) : !box->waits) {
      wait.threads = runners(task, box);
      return wait;
    }
    if (waits_for_one(task)) return wait;
    std::unordered_set<Address> taken; // there may be a million of them
    for (const AsyncEdge& edge : graph_.awaited(task)) {
      const Address next = graph_.box_of(edge.to);
      // A method that waits for its own task waits for ever; what stands between it and others does not.
      const bool own = box != nullptr && (box->awaited == 0 || graph_.box_of(box->awaited) == task);
      if ((next == task && !own) || is_done(next)) continue;
      if (taken.insert(next).second) wait.tasks.push_back(next);
      push(next, waiter);
    }
    if (box == nullptr || box->awaited == 0) return wait;
    if (const auto thread = context_of_box(*box)) {
      wait.threads.push_back(*thread);
    } else if (wait.tasks.empty() && is_done(box->awaited)) {
      // It could go on, and nobody runs it. When the thread that waits for it has a context of its own, that
      // is where it was sent to.
      const auto own = std::ranges::find(contexts_, waiter, &std::pair<const Address, std::uint64_t>::second);
      if (own != contexts_.end()) {
        wait.threads.push_back(waiter);
        wait.certain = false;
      }
    }
    return wait;
  }

  std::optional<std::uint64_t> context_of_box(const AsyncBox& box) {
    try {
      return context_of(box.awaited);
    } catch (const Error&) {
      return std::nullopt; // what is awaited is no task
    }
  }

  bool is_done(Address task) {
    try {
      return graph_.kinds().lineage(task).derives_from("System.Threading.Tasks.Task") &&
             graph_.kinds().flags(task).done();
    } catch (const Error&) {
      return false;
    }
  }

  const LockTable& table_;
  AsyncGraph& graph_;
  InstanceReader reader_;
  MethodNames& names_;
  std::deque<std::pair<Address, std::uint64_t>> open_; // tasks, each with a thread that waits for it
  std::unordered_set<Address> seen_;
  // Threads by the tasks that they run, and by what their state machines are.
  std::multimap<Address, std::uint64_t> running_, machines_;
  std::unordered_map<Address, std::uint64_t> contexts_; // threads by their synchronization contexts
};

} // namespace

std::vector<TaskWait> task_waits(const LockTable& table, AsyncGraph& graph, ObjectReader& objects,
                                 MethodNames& names) {
  return TaskWalk(table, graph, objects, names).run();
}

} // namespace clr
