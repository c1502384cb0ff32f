#include "core/report/deadlock_report.h"

#include "core/memory/count_text.h"
#include "core/memory/utf8.h"
#include "core/report/json_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace clr {
namespace {

std::string dot_text(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : printable(text)) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

std::string node_text(const WaitGraph::Node& node, LockReporter& locks) {
  return node.kind == WaitGraph::Kind::thread
             ? locks.thread_text(node.id)
             : locks.object_text({.object = node.id, .kind = LockKind::task});
}

std::string_view words_of(DeadlockKind kind) {
  switch (kind) {
  case DeadlockKind::locks:
    return "over locks";
  case DeadlockKind::rwlock:
    return "over reader-writer locks";
  case DeadlockKind::class_init:
    return "over the constructor of a class";
  case DeadlockKind::async:
    return "of code that waits for a task";
  case DeadlockKind::mixed:
    return "over locks and tasks";
  case DeadlockKind::pool:
    return "over the thread pool, which has work that no worker can begin";
  }
  return "";
}

} // namespace

std::vector<std::string> deadlock_lines(const Deadlock& deadlock, LockReporter& locks) {
  std::vector<std::string> lines;
  const bool alone = deadlock.members.size() == 1;
  lines.push_back(fmt::format("{}deadlock {}: {} {}{}", deadlock.certain ? "" : "probably a ",
                              words_of(deadlock.kind), deadlock.members.size(),
                              deadlock.kind == DeadlockKind::pool
                                  ? (alone ? "waits for what others do" : "wait for what others do")
                              : alone ? "waits for itself"
                                      : "wait for each other",
                              !deadlock.ends   ? ""
                              : deadlock.grows ? ", until the pool has made more workers"
                              : alone          ? ", though for a limited time only"
                                               : ", though one of them for a limited time only"));
  for (const DeadlockMember& member : deadlock.members) {
    const ThreadWait* const wait = member.waits_for.wait ? locks.wait_of(member.node.id) : nullptr;
    const std::string place = wait == nullptr ? "" : locks.place_text(*wait);
    lines.push_back(fmt::format(
        "  {}{}{}", node_text(member.node, locks), place.empty() ? "" : fmt::format(" in {}", place),
        member.node.kind == WaitGraph::Kind::task ? locks.task_place(member.node.id) : std::string()));
    for (const WaitedObject& held : member.holds)
      if (held.kind != LockKind::task)
        lines.push_back(fmt::format("    {} {}", held.kind == LockKind::class_init ? "runs" : "holds",
                                    locks.object_text(held)));
    if (member.node.kind == WaitGraph::Kind::task && member.next.kind == WaitGraph::Kind::thread)
      lines.push_back(fmt::format("    needs {}", node_text(member.next, locks)));
    else
      lines.push_back(fmt::format(
          "    waits for {}{}", locks.object_text(member.waits_for.object, wait),
          member.next.kind == WaitGraph::Kind::thread && !is_of_thread(member.waits_for.object.kind)
              ? fmt::format(", {} {}",
                            member.waits_for.object.kind == LockKind::class_init ? "being initialised by"
                            : is_owed(member.waits_for.object.kind)              ? "held by"
                                                                    : "which ends with a callback on",
                            node_text(member.next, locks))
              : ""));
  }
  std::vector<std::string> victims;
  for (const std::uint64_t os_id : deadlock.victims) {
    constexpr std::size_t most = 20;
    if (victims.size() == most) {
      victims.push_back(fmt::format("{} more", deadlock.victims.size() - most));
      break;
    }
    victims.push_back(locks.thread_text(os_id));
  }
  const std::string_view them = alone ? "it" : "them";
  if (!victims.empty())
    lines.push_back(
        fmt::format("  behind {} wait{} {}", them, victims.size() == 1 ? "s" : "", fmt::join(victims, ", ")));
  if (deadlock.more_victims)
    lines.push_back(fmt::format("  who else waits behind {} is not known: too many waits lead there", them));
  return lines;
}

bool locks_up(const Deadlock& deadlock) {
  return deadlock.kind != DeadlockKind::pool || (!deadlock.ends && deadlock.certain);
}

std::string deadlock_sentence(const Deadlock& deadlock, LockReporter& locks) {
  const bool pool = deadlock.kind == DeadlockKind::pool, alone = deadlock.members.size() == 1;
  const auto is_thread = [](const DeadlockMember& member) {
    return member.node.kind == WaitGraph::Kind::thread;
  };
  const bool threads = std::ranges::any_of(deadlock.members, is_thread);
  std::vector<std::string> members; // tasks one by one only where there are no others
  const auto tasks =
      deadlock.members.size() - static_cast<std::size_t>(std::ranges::count_if(deadlock.members, is_thread));
  for (const DeadlockMember& member : deadlock.members) {
    if (threads && !is_thread(member)) continue;
    constexpr std::size_t most_tasks = 10;
    if (!threads && members.size() == most_tasks) {
      members.push_back(fmt::format("{} more", deadlock.members.size() - most_tasks));
      break;
    }
    const ThreadWait* const wait = threads ? locks.wait_of(member.node.id) : nullptr;
    const std::string place = wait == nullptr ? "" : locks.place_text(*wait);
    members.push_back(fmt::format("{}{} waits for {}", node_text(member.node, locks),
                                  place.empty() ? "" : fmt::format(" in {}", place),
                                  locks.object_text(member.waits_for.object, wait)));
  }
  if (threads && tasks != 0) members.push_back("and " + count_text(tasks, "task"));
  std::string text = fmt::format("{}: {}",
                                 pool    ? "all workers of the thread pool wait, and work is queued"
                                 : alone ? "it waits for itself"
                                         : "they wait for each other",
                                 fmt::join(members, "; "));
  if (!deadlock.victims.empty())
    text +=
        fmt::format("; behind {} wait{} {}{}", alone ? "it" : "them", deadlock.victims.size() == 1 ? "s" : "",
                    deadlock.more_victims ? "at least " : "", count_text(deadlock.victims.size(), "thread"));
  return text;
}

std::string verdict_of(const std::vector<Deadlock>& deadlocks) {
  std::set<WaitGraph::Node> members; // a worker of the pool may be one of two deadlocks
  std::size_t count = 0, ends = 0;
  bool pool = false; // the last one
  for (const Deadlock& deadlock : deadlocks) {
    if (!locks_up(deadlock)) continue;
    for (const DeadlockMember& member : deadlock.members) members.insert(member.node);
    pool = deadlock.kind == DeadlockKind::pool;
    ++count;
    ends += deadlock.ends ? 1 : 0;
  }
  if (count > 1)
    return fmt::format("{} threads and tasks wait in {} deadlocks{}", members.size(), count,
                       ends == 0 ? " and will not go on"
                                 : fmt::format(", {} of which may end by a wait for a limited time",
                                               ends == count ? "all" : std::to_string(ends)));
  if (pool)
    return members.size() == 1
               ? "the only worker of the thread pool waits, and nobody can begin the work that is queued"
               : fmt::format("all {} workers of the thread pool wait, and nobody can begin the work that is "
                             "queued",
                             members.size());
  if (members.size() == 1)
    return fmt::format("an async method or a thread waits for itself{}",
                       ends == 0 ? " and will not go on" : ", though for a limited time only");
  return fmt::format("{} threads and tasks wait for each other{}", members.size(),
                     ends == 0 ? " and will not go on" : ", though one of them for a limited time only");
}

Json to_json(const Deadlock& deadlock, LockReporter& locks) {
  Json json{{"kind", to_string(deadlock.kind)}, {"certain", deadlock.certain}};
  if (deadlock.ends) json["ends"] = true;
  json["cycle"] = deadlock.cycle;
  json["members"] = Json::array();
  for (const DeadlockMember& member : deadlock.members) {
    Json one;
    if (member.node.kind == WaitGraph::Kind::thread)
      one["thread"] = member.node.id;
    else
      one["box"] = hex(member.node.id);
    const ThreadWait* const wait = member.waits_for.wait ? locks.wait_of(member.node.id) : nullptr;
    if (const auto place = wait == nullptr ? nullptr : locks.place_of(*wait)) {
      one["method"] = to_json(place->method);
      one["source"] = place->source ? to_json(*place->source) : Json();
    }
    one["holds"] = member.holds.empty() ? Json() : Json(hex(member.holds.front().object));
    one["waits_for"] = hex(member.waits_for.object.object);
    one["text"] = locks.object_text(member.waits_for.object, wait);
    json["members"].push_back(std::move(one));
  }
  json["victims"] = deadlock.victims;
  return json;
}

std::string wait_graph_dot(LockReporter& locks) {
  const WaitEdges& edges = locks.edges();
  std::set<WaitGraph::Node> red;
  for (const Deadlock& deadlock : locks.deadlocks())
    for (const DeadlockMember& member : deadlock.members) red.insert(member.node);
  const auto is_red = [&](std::uint32_t node) { return red.contains(edges.graph.nodes()[node]); };
  std::string dot = "digraph waits {\n  node [shape=box];\n";
  for (std::uint32_t i = 0; i < edges.graph.nodes().size(); ++i)
    dot += fmt::format("  n{} [label={}{}];\n", i, dot_text(node_text(edges.graph.nodes()[i], locks)),
                       is_red(i) ? ", color=red" : "");
  for (const WaitGraph::Edge& edge : edges.graph.edges())
    dot += fmt::format("  n{} -> n{} [label={}{}];\n", edge.from, edge.to,
                       dot_text(locks.object_text(edges.reasons[edge.why].object)),
                       is_red(edge.from) && is_red(edge.to) ? ", color=red" : "");
  return dot + "}\n";
}

} // namespace clr
