#include "core/waits/deadlock.h"

#include "core/waits/blocked_run.h"

#include <map>
#include <set>

namespace clr {
namespace {

using Node = WaitGraph::Node;
using Kind = WaitGraph::Kind;

// The threads that must do something before this waiter goes on.
std::vector<std::uint64_t> blockers(const LockTable& table, const LockRow& row, const ThreadWait& wait) {
  std::vector<std::uint64_t> threads;
  if (row.owner && row.owner->os_id) threads.push_back(*row.owner->os_id);
  if (row.ender) threads.push_back(*row.ender);
  if (row.state.kind != LockKind::rwlock) return threads;
  // Readers keep a writer out, but the thread itself may be one of them: it asks for more than it has.
  if (wait.mode == WaitMode::write)
    for (const LockHolder& reader : row.readers)
      if (reader.os_id && *reader.os_id != wait.os_id) threads.push_back(*reader.os_id);
  std::erase(threads, wait.os_id);
  // A writer that waits keeps further readers out.
  if (wait.mode == WaitMode::read && threads.empty())
    for (const std::size_t other : row.waiters)
      if (table.waits[other].mode == WaitMode::write) threads.push_back(table.waits[other].os_id);
  return threads;
}

DeadlockKind kind_of(const Deadlock& deadlock) {
  bool tasks = false, locks = false, rwlock = false, class_init = false;
  for (const DeadlockMember& member : deadlock.members) {
    const LockKind kind = member.waits_for.object.kind;
    tasks = tasks || member.node.kind == Kind::task || kind == LockKind::task;
    class_init = class_init || kind == LockKind::class_init;
    rwlock = rwlock || kind == LockKind::rwlock;
    locks = locks || (member.node.kind == Kind::thread && kind != LockKind::task);
  }
  if (class_init) return DeadlockKind::class_init;
  if (tasks) return locks ? DeadlockKind::mixed : DeadlockKind::async;
  return rwlock ? DeadlockKind::rwlock : DeadlockKind::locks;
}

// Each member holds what others wait for. A knot of tasks may have as many members as there are tasks.
void note_holders(std::vector<DeadlockMember>& members) {
  std::map<Node, std::size_t> numbers;
  for (std::size_t i = 0; i < members.size(); ++i) numbers.try_emplace(members[i].node, i);
  std::set<std::pair<std::size_t, Address>> known; // by member and object
  for (const DeadlockMember& member : members) {
    const WaitedObject& object = member.waits_for.object;
    const auto holder = numbers.find(member.next);
    if (holder == numbers.end() || is_of_thread(object.kind) || !is_owed(object.kind)) continue;
    if (known.emplace(holder->second, object.object).second) members[holder->second].holds.push_back(object);
  }
}

// Threads that wait, over any number of others, for a member of a deadlock. There may be 100,000 deadlocks.
class Victims {
public:
  explicit Victims(const WaitGraph& graph) : graph_(graph), in_(graph.nodes().size()), seen_(in_.size()) {
    for (const WaitGraph::Edge& edge : graph.edges()) in_[edge.to].push_back(edge.from);
  }

  void find(const std::set<std::uint32_t>& members, Deadlock& deadlock) {
    ++search_;
    std::vector<std::uint32_t> open(members.begin(), members.end());
    for (const std::uint32_t member : open) seen_[member] = search_;
    std::vector<std::uint64_t>& victims = deadlock.victims;
    while (!open.empty() && steps_ < max_victim_steps) {
      const std::uint32_t node = open.back();
      open.pop_back();
      for (const std::uint32_t from : in_[node]) {
        ++steps_;
        if (seen_[from] == search_) continue;
        seen_[from] = search_;
        open.push_back(from);
        if (graph_.nodes()[from].kind == Kind::thread) victims.push_back(graph_.nodes()[from].id);
      }
    }
    std::ranges::sort(victims);
    deadlock.more_victims = !open.empty();
  }

private:
  const WaitGraph& graph_;
  std::vector<std::vector<std::uint32_t>> in_; // who waits for each node
  std::vector<std::uint32_t> seen_;            // the last search that came to each node
  std::uint32_t search_ = 0;
  std::size_t steps_ = 0;
};

} // namespace

std::string_view to_string(DeadlockKind kind) {
  switch (kind) {
  case DeadlockKind::locks:
    return "locks";
  case DeadlockKind::rwlock:
    return "rwlock";
  case DeadlockKind::class_init:
    return "class_init";
  case DeadlockKind::async:
    return "async";
  case DeadlockKind::mixed:
    return "mixed";
  case DeadlockKind::pool:
    return "pool";
  }
  return "";
}

WaitEdges wait_edges(const LockTable& table, const std::vector<TaskWait>& tasks) {
  WaitEdges edges;
  std::set<Address> waited; // tasks
  const auto connect = [&](const Node& from, const Node& to, const WaitReason& reason) {
    if (edges.reasons.size() >= max_wait_edges) {
      edges.left_out = true;
      return;
    }
    if (to.kind == Kind::task) waited.insert(to.id);
    edges.graph.connect(edges.graph.add(from), edges.graph.add(to), edges.reasons.size());
    edges.reasons.push_back(reason);
  };
  for (const LockRow& row : table.locks)
    for (const std::size_t i : row.waiters) {
      if (edges.left_out) break; // each of 10,000 waiters may wait for each of 10,000 readers
      const ThreadWait& wait = table.waits[i];
      if (wait.any && wait.objects.size() > 1) continue;
      const WaitReason reason{.wait = i,
                              .object = {row.state.object, row.state.kind},
                              .certain = wait.certain && row.state.kind != LockKind::class_init &&
                                         row.state.kind != LockKind::finalizers && !row.ender};
      const Node from{Kind::thread, wait.os_id};
      if (row.state.kind == LockKind::task)
        connect(from, {Kind::task, row.state.object}, reason);
      else
        for (const std::uint64_t to : blockers(table, row, wait)) connect(from, {Kind::thread, to}, reason);
    }
  for (const TaskWait& task : tasks) {
    if (edges.left_out) break;
    const Node from{Kind::task, task.task};
    for (const Address next : task.tasks)
      connect(from, {Kind::task, next},
              {.wait = {}, .object = {next, LockKind::task}, .certain = task.certain});
    for (const std::uint64_t thread : task.threads)
      connect(from, {Kind::thread, thread},
              {.wait = {}, .object = {task.task, LockKind::task}, .certain = task.certain});
  }
  for (const auto& [object, thread] : table.enders)
    if (waited.contains(object))
      connect({Kind::task, object}, {Kind::thread, thread},
              {.wait = {}, .object = {object, LockKind::task}, .certain = false});
  return edges;
}

std::vector<Deadlock> find_deadlocks(const LockTable& table, const WaitEdges& edges) {
  const WaitGraph& graph = edges.graph;
  std::vector<Deadlock> found;
  Victims victims(graph);
  for (const WaitGraph::Knot& knot : graph.knots()) {
    Deadlock deadlock{.members = {}, .cycle = knot.cycle.size(), .victims = {}};
    std::set<std::uint32_t> members;
    const auto add = [&](std::size_t index) {
      const WaitGraph::Edge& edge = graph.edges()[index];
      const WaitReason& reason = edges.reasons[edge.why];
      deadlock.members.push_back({.node = graph.nodes()[edge.from],
                                  .holds = {},
                                  .waits_for = reason,
                                  .next = graph.nodes()[edge.to]});
      members.insert(edge.from);
      deadlock.certain = deadlock.certain && reason.certain;
      if (reason.wait && table.waits[*reason.wait].timeout_ms) deadlock.ends = true;
    };
    for (const std::size_t edge : knot.cycle) add(edge);
    for (const std::size_t edge : knot.others) add(edge);
    note_holders(deadlock.members);
    deadlock.kind = kind_of(deadlock);
    victims.find(members, deadlock);
    found.push_back(std::move(deadlock));
  }
  return found;
}

std::optional<Deadlock> find_pool_deadlock(const LockTable& table, const PoolPressure& pool) {
  if (pool.queued == 0) return std::nullopt;
  Deadlock deadlock{.kind = DeadlockKind::pool, .members = {}, .victims = {}};
  bool signals = false; // somebody else may give them
  for (std::size_t i = 0; i < table.waits.size() && i < table.stacks.size(); ++i) {
    const RuntimeThread* const thread = table.stacks[i].thread;
    if (thread == nullptr || (thread->state.value_or(0) & thread_state::pool_worker) == 0) continue;
    const ThreadWait& wait = table.waits[i];
    // The thread that watches over the pool is one of its threads, but begins no work; an idle one may.
    if (thread->name && *thread->name == ".NET TP Gate") continue;
    if (wait.what != ThreadWait::What::objects || wait.objects.empty()) return std::nullopt;
    signals = signals || wait.kind != LockKind::task;
    const WaitReason reason{.wait = i, .object = wait.objects.front(), .certain = wait.certain};
    deadlock.members.push_back({.node = {Kind::thread, wait.os_id},
                                .holds = {},
                                .waits_for = reason,
                                .next = {Kind::task, reason.object.object}});
    deadlock.certain = deadlock.certain && wait.certain;
    deadlock.ends = deadlock.ends || wait.timeout_ms.has_value();
  }
  if (deadlock.members.empty()) return std::nullopt;
  if (signals && pool.queued < deadlock.members.size()) return std::nullopt;
  deadlock.certain = deadlock.certain && !signals;
  deadlock.grows = !pool.existing || !pool.maximum || *pool.existing < *pool.maximum;
  deadlock.ends = deadlock.ends || deadlock.grows;
  return deadlock;
}

} // namespace clr
