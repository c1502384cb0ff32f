#include "core/report/deadlock_report.h"

#include "core/memory/utf8.h"
#include "core/report/json_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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
  lines.push_back(fmt::format("{}deadlock {}: {} {}{}", deadlock.certain ? "" : "probably a ",
                              words_of(deadlock.kind), deadlock.members.size(),
                              deadlock.kind == DeadlockKind::pool ? "wait for what others do"
                              : deadlock.members.size() == 1      ? "waits for itself"
                                                                  : "wait for each other",
                              !deadlock.ends ? ""
                              : deadlock.kind == DeadlockKind::pool
                                  ? ", until the pool has made more workers"
                                  : ", though one of them for a limited time only"));
  for (const DeadlockMember& member : deadlock.members) {
    const ThreadWait* const wait = member.waits_for.wait ? locks.wait_of(member.node.id) : nullptr;
    const std::string place = wait == nullptr ? "" : locks.place_text(*wait);
    lines.push_back(fmt::format(
        "  {}{}{}", node_text(member.node, locks), place.empty() ? "" : fmt::format(" in {}", place),
        member.node.kind == WaitGraph::Kind::task ? locks.task_place(member.node.id) : std::string()));
    for (const WaitedObject& held : member.holds)
      if (held.kind != LockKind::task) lines.push_back(fmt::format("    holds {}", locks.object_text(held)));
    if (member.node.kind == WaitGraph::Kind::task && member.next.kind == WaitGraph::Kind::thread)
      lines.push_back(fmt::format("    needs {}", node_text(member.next, locks)));
    else
      lines.push_back(fmt::format(
          "    waits for {}{}", locks.object_text(member.waits_for.object, wait),
          member.next.kind == WaitGraph::Kind::thread && !is_of_thread(member.waits_for.object.kind)
              ? fmt::format(", {} {}",
                            is_owed(member.waits_for.object.kind) ? "held by"
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
  if (!victims.empty()) lines.push_back(fmt::format("  behind them wait {}", fmt::join(victims, ", ")));
  if (deadlock.more_victims)
    lines.push_back("  who else waits behind them is not known: too many waits lead there");
  return lines;
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
