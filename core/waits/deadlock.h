// Deadlocks: threads and tasks that wait for each other, by the locks that they hold.
#pragma once

#include "core/waits/lock_table.h"
#include "core/waits/wait_graph.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace clr {

// Why a thread or a task cannot go on.
struct WaitReason {
  std::optional<std::size_t> wait; // index in LockTable::waits, of a thread
  WaitedObject object;             // a task's reason is the task that it waits for
  bool certain = true;
};

// What waits for what at one stop. A wait that one of several objects ends has no edges: while one of them
// may come, nothing is locked up.
struct WaitEdges {
  WaitGraph graph;
  std::vector<WaitReason> reasons; // of its edges
  bool left_out = false;           // there are more than max_wait_edges
};

// A task that is not done, and what must happen before it is.
struct TaskWait {
  Address task = 0;
  std::vector<Address> tasks;         // that it waits for; all of them must be done
  std::vector<std::uint64_t> threads; // that run its code, or whose context its code must run in
  bool certain = true;
};

// Each writer that waits for a lock waits for each of its readers: hence the limit.
constexpr std::size_t max_wait_edges = 500'000;
WaitEdges wait_edges(const LockTable& table, const std::vector<TaskWait>& tasks = {});

enum class DeadlockKind : std::uint8_t { locks, rwlock, class_init, async, mixed, pool };
std::string_view to_string(DeadlockKind kind); // words of JSON

struct DeadlockMember {
  WaitGraph::Node node;
  std::vector<WaitedObject> holds; // what other members wait for
  WaitReason waits_for;
  WaitGraph::Node next; // whom it waits for
};

struct Deadlock {
  DeadlockKind kind = DeadlockKind::locks;
  // In the order of the cycle: each waits for the next, and the last one for the first. Then those that wait
  // for one of them and are waited for, too.
  std::vector<DeadlockMember> members;
  std::size_t cycle = 0;              // how many of them form the cycle
  std::vector<std::uint64_t> victims; // threads outside that wait for a member, in the end
  bool more_victims = false;          // there may be others: max_victim_steps ended the search
  bool certain = true;
  bool ends = false;  // a member waits for a limited time, or the pool may make workers
  bool grows = false; // the latter
};

// Waits that are followed to the victims of all deadlocks together; those of the rest are left out. A wait
// may stand behind each of 100,000 deadlocks that wait for each other.
constexpr std::size_t max_victim_steps = 4'000'000;
std::vector<Deadlock> find_deadlocks(const LockTable& table, const WaitEdges& edges);

// What is known of the thread pool.
struct PoolPressure {
  std::size_t queued = 0;                    // items that no worker has begun
  std::optional<unsigned> existing, maximum; // workers
};
// All workers of the pool wait while work is queued, which only a worker can begin. It ends when the pool may
// make further workers. It is certain when they wait for tasks; locks and signals may come from elsewhere,
// and for these the work that is queued must be as many items as the pool has workers. Nothing when one
// worker may go on.
std::optional<Deadlock> find_pool_deadlock(const LockTable& table, const PoolPressure& pool);

} // namespace clr
