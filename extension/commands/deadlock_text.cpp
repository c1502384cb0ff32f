#include "extension/commands/deadlock_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace clr::lldb_plugin {

namespace {

std::string name_of(const WaitGraph::Node& node, LockReporter& locks) {
  return node.kind == WaitGraph::Kind::thread ? locks.thread_text(node.id)
                                              : locks.object_text({node.id, LockKind::task});
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
  }
  return "";
}

} // namespace

void print_deadlock(Output& out, const Deadlock& deadlock, LockReporter& locks) {
  out.line("{}deadlock {}: {} wait for each other{}", deadlock.certain ? "" : "probably a ",
           words_of(deadlock.kind), deadlock.members.size(),
           deadlock.ends ? ", though one of them for a limited time only" : "");
  for (const DeadlockMember& member : deadlock.members) {
    const ThreadWait* const wait = member.waits_for.wait ? locks.wait_of(member.node.id) : nullptr;
    const std::string place = wait == nullptr ? "" : locks.place_text(*wait);
    out.line("  {}{}", name_of(member.node, locks), place.empty() ? "" : fmt::format(" in {}", place));
    for (const WaitedObject& held : member.holds)
      if (held.kind != LockKind::task) out.line("    holds {}", locks.object_text(held));
    if (member.node.kind == WaitGraph::Kind::task && member.next.kind == WaitGraph::Kind::thread)
      out.line("    needs {}", name_of(member.next, locks));
    else
      out.line("    waits for {}{}", locks.object_text(member.waits_for.object, wait),
               member.next.kind == WaitGraph::Kind::thread && member.waits_for.object.kind != LockKind::thread
                   ? fmt::format(", held by {}", name_of(member.next, locks))
                   : "");
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
  if (!victims.empty()) out.line("  behind them wait {}", fmt::join(victims, ", "));
}

} // namespace clr::lldb_plugin
