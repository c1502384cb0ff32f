#include "core/report/trouble_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

namespace clr {
namespace {

constexpr std::size_t max_groups = 10; // of threads that wait at the same place

class TroubleFinder {
public:
  TroubleFinder(LockReporter& locks, StackReporter& stacks) : locks_(locks), stacks_(stacks) {}

  TroubleReport find(const std::string& crash, const HeapWalkOptions& options) {
    const LockTable& table = crash.empty() ? locks_.table(options) : locks_.table_by_stacks();
    const std::vector<Deadlock> deadlocks =
        crash.empty() ? locks_.deadlocks(options) : find_deadlocks(table, wait_edges(table));
    const ThreadUses uses = thread_uses(table);
    const std::string memory = memory_trouble();
    const bool starved = std::ranges::any_of(
        deadlocks, [](const Deadlock& deadlock) { return deadlock.kind == DeadlockKind::pool; });
    const bool deadlocked = std::ranges::any_of(deadlocks, [](const Deadlock& deadlock) {
      return deadlock.kind != DeadlockKind::pool || !deadlock.ends;
    });
    report_.verdicts = decide({.crashed = !crash.empty(),
                               .out_of_memory = !memory.empty(),
                               .starved = starved,
                               .deadlocked = deadlocked},
                              uses);
    for (const Deadlock& deadlock : deadlocks) tell(deadlock_text(deadlock));
    if (!memory.empty()) tell(memory);
    tell_groups(table, uses.blocked, "wait");
    tell_groups(table, uses.outside, "stand");
    tell_groups(table, uses.running, "run");
    // Beside a crash they say nothing.
    if (crash.empty())
      tell_groups(table, uses.parked, "stand");
    else if (!uses.parked.empty())
      tell(uses.parked.size() == 1
               ? "1 thread sleeps or waits for a signal"
               : fmt::format("{} threads sleep or wait for a signal", uses.parked.size()));
    if (uses.unknown != 0) tell(fmt::format("of {} nothing is known", threads(uses.unknown)));
    report_.missing = table.problems;
    summarize(crash, deadlocks, memory, uses);
    return std::move(report_);
  }

private:
  static std::string threads(std::size_t count) {
    return count == 1 ? "1 thread" : fmt::format("{} threads", count);
  }

  void tell(std::string text) { report_.evidence.push_back(std::move(text)); }

  std::string memory_trouble() {
    ExceptionReporter exceptions(locks_.runtime());
    for (const RuntimeThread& thread : stacks_.threads().threads) {
      const ExceptionReporter::OfThread found = exceptions.of_thread(thread);
      if (found.current() == 0) continue;
      try {
        const ExceptionReport report = exceptions.read(found.current());
        if (report.exception.type == "System.OutOfMemoryException" && thread.os_id)
          return fmt::format("an OutOfMemoryException {} {}",
                             found.in_flight.empty() ? "was the last one that was thrown by"
                                                     : "is in flight on",
                             locks_.thread_text(*thread.os_id));
      } catch (const Error&) {
        continue; // an exception that cannot be read is told with its thread
      }
    }
    return {};
  }

  std::string deadlock_text(const Deadlock& deadlock) {
    std::vector<std::string> members;
    for (const DeadlockMember& member : deadlock.members) {
      if (member.node.kind != WaitGraph::Kind::thread) continue;
      const ThreadWait* const wait = locks_.wait_of(member.node.id);
      const std::string place = wait == nullptr ? "" : locks_.place_text(*wait);
      members.push_back(fmt::format("{}{} waits for {}", locks_.thread_text(member.node.id),
                                    place.empty() ? "" : fmt::format(" in {}", place),
                                    locks_.object_text(member.waits_for.object, wait)));
    }
    const bool pool = deadlock.kind == DeadlockKind::pool;
    return fmt::format("{}: {}{}",
                       pool ? "all workers of the thread pool wait for tasks, and work is queued"
                            : "they wait for each other",
                       fmt::join(members, "; "),
                       deadlock.victims.empty()
                           ? ""
                           : fmt::format("; behind them wait {}", threads(deadlock.victims.size())));
  }

  // Threads that do the same at the same place are one line.
  void tell_groups(const LockTable& table, const std::vector<std::size_t>& indexes, std::string_view verb) {
    struct Group {
      std::size_t count = 0;
      const ThreadWait* first = nullptr;
    };
    std::map<std::pair<std::string, std::string>, Group> groups;
    for (const std::size_t i : indexes) {
      const ThreadWait& wait = table.waits[i];
      const std::string what = wait.what == ThreadWait::What::running ? "" : locks_.wait_text(wait);
      Group& group = groups[{locks_.place_text(wait), what}];
      if (group.count++ == 0) group.first = &wait;
    }
    std::vector<std::pair<std::pair<std::string, std::string>, Group>> sorted(groups.begin(), groups.end());
    std::ranges::stable_sort(sorted,
                             [](const auto& a, const auto& b) { return a.second.count > b.second.count; });
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      if (i == max_groups) {
        tell(fmt::format("{} more groups of threads {}", sorted.size() - max_groups, verb));
        break;
      }
      const auto& [texts, group] = sorted[i];
      const std::string who =
          group.count == 1 ? locks_.thread_text(group.first->os_id) : fmt::format("{} threads", group.count);
      tell(fmt::format("{} {}{} in {}{}", who, verb, group.count == 1 ? "s" : "", texts.first,
                       texts.second.empty() ? "" : fmt::format(": {}", texts.second)));
    }
  }

  void summarize(const std::string& crash, const std::vector<Deadlock>& deadlocks, const std::string& memory,
                 const ThreadUses& uses) {
    switch (report_.verdicts.front()) {
    case Verdict::crash:
      report_.text = crash;
      break;
    case Verdict::deadlock: {
      std::size_t members = 0;
      for (const Deadlock& deadlock : deadlocks) {
        members += deadlock.members.size();
        report_.certain = report_.certain && deadlock.certain && !deadlock.ends;
      }
      report_.text = fmt::format("{} threads and tasks wait for each other and will not go on", members);
      break;
    }
    case Verdict::memory:
      report_.text = memory;
      break;
    case Verdict::starvation:
      report_.text = "the thread pool cannot begin the work that is queued";
      break;
    case Verdict::waiting:
      report_.text = uses.blocked.empty()
                         ? fmt::format("{} wait for the outside", threads(uses.outside.size()))
                         : fmt::format("{} wait for locks, tasks or other threads, {} for the "
                                       "outside; none of them is deadlocked",
                                       threads(uses.blocked.size()), uses.outside.size());
      report_.certain = false;
      break;
    case Verdict::busy:
      report_.text = fmt::format("{} run code; whether they get anywhere, another stop tells",
                                 threads(uses.running.size()));
      report_.certain = false;
      break;
    case Verdict::healthy:
      report_.text = "no thread fails, none waits for a lock or a reply, none works";
      break;
    case Verdict::unknown:
      report_.text = "too little of it can be read";
      report_.certain = false;
      break;
    }
  }

  LockReporter& locks_;
  StackReporter& stacks_;
  TroubleReport report_;
};

} // namespace

TroubleReport find_trouble(LockReporter& locks, StackReporter& stacks, const std::string& crash,
                           const HeapWalkOptions& options) {
  return TroubleFinder(locks, stacks).find(crash, options);
}

Json to_json(const TroubleReport& report) {
  Json json{{"verdict", to_string(report.verdicts.front())}, {"verdicts", Json::array()}};
  for (const Verdict verdict : report.verdicts) json["verdicts"].push_back(to_string(verdict));
  json["certain"] = report.certain;
  json["text"] = report.text;
  json["evidence"] = report.evidence;
  json["missing"] = report.missing;
  return json;
}

} // namespace clr
