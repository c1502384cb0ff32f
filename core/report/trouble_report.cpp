#include "core/report/trouble_report.h"

#include "core/memory/count_text.h"
#include "core/report/deadlock_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

namespace clr {
namespace {

constexpr std::size_t max_groups = 10;          // of threads that wait at the same place
constexpr std::size_t max_told_deadlocks = 100; // one by one
constexpr std::size_t told_types = 5;           // that fill most of the heap
constexpr std::string_view out_of_memory_type = "System.OutOfMemoryException";

std::string calls(std::size_t count, std::size_t requests) {
  const std::string_view what = requests == count ? "request" : "async call";
  return fmt::format("{} {}{}", count, what, count == 1 ? " waits" : "s wait");
}

class TroubleFinder {
public:
  explicit TroubleFinder(TroubleSources& sources)
      : sources_(sources), locks_(sources.locks), stacks_(sources.stacks) {}

  TroubleReport find(const std::string& crash, const HeapWalkOptions& options) {
    const LockTable& table = crash.empty() ? locks_.table(options) : locks_.table_by_stacks();
    const std::vector<Deadlock> deadlocks =
        crash.empty() ? locks_.deadlocks(options) : find_deadlocks(table, wait_edges(table));
    ThreadUses uses = thread_uses(table);
    std::erase_if(uses.outside, [&](std::size_t index) { return is_in_runtime(table, index); });
    report_.missing = table.problems;
    AsyncWaiting waiting;
    if (crash.empty()) waiting = read_async(table, options);
    const std::string memory = memory_trouble(options, crash.empty() && table.with_heap);
    const bool starved = std::ranges::any_of(
        deadlocks, [](const Deadlock& deadlock) { return deadlock.kind == DeadlockKind::pool; });
    const bool deadlocked = std::ranges::any_of(deadlocks, locks_up);
    report_.verdicts = decide({.crashed = !crash.empty(),
                               .out_of_memory = !memory.empty(),
                               .starved = starved,
                               .deadlocked = deadlocked,
                               .waiting_chains = waiting.owed},
                              uses);
    // Without threads nobody could be seen to wait or to work.
    no_threads_ = table.waits.empty();
    if (no_threads_ && report_.verdicts.front() == Verdict::healthy)
      report_.verdicts.front() = Verdict::unknown;
    for (std::size_t i = 0; i < std::min(deadlocks.size(), max_told_deadlocks); ++i)
      tell(deadlock_sentence(deadlocks[i], locks_));
    if (deadlocks.size() > max_told_deadlocks)
      tell(count_text(deadlocks.size() - max_told_deadlocks, "more deadlock"));
    // Of methods that wait for each other one may go on by a time, or by another of several tasks.
    for (const std::string& knot : waiting.knots)
      tell(fmt::format("{}{}: {}",
                       knot.find(knot_link) == std::string::npos ? "an async method waits for its own task"
                                                                 : "async methods wait for each other",
                       deadlocked ? "" : ", and for something else beside", knot));
    if (!memory.empty()) tell_memory(memory, options);
    tell_async(waiting);
    const Told blocked = tell_groups(table, uses.blocked, "wait");
    const Told outside = tell_groups(table, uses.outside, "stand");
    tell_groups(table, uses.running, "run");
    // Beside a crash they say nothing.
    if (crash.empty())
      tell_groups(table, uses.parked, "stand");
    else if (!uses.parked.empty())
      tell(parked_text(uses));
    if (uses.unknown != 0) tell(fmt::format("of {} nothing is known", threads(uses.unknown)));
    if (crash.empty()) report_.mark = mark_stop(table, uses, std::move(waiting.marks), map());
    summarize(crash, deadlocks, memory, uses,
              waiting_text(uses, waiting, uses.blocked.empty() ? outside : blocked));
    report_.waiting = std::move(waiting.groups);
    return std::move(report_);
  }

private:
  // Whether a thread is in a call of the runtime itself, which waits for no outside: it wakes another thread,
  // or waits for the moment that a part of the runtime is in use.
  bool is_in_runtime(const LockTable& table, std::size_t index) {
    const std::optional<std::size_t> frame = table.waits[index].native_frame;
    if (!frame) return false;
    const LoadedModule* const module = locks_.runtime().module_at(table.stacks[index].frames[*frame].pc());
    return module != nullptr && module->path.ends_with("/libcoreclr.so");
  }

  static std::string threads(std::size_t count) { return count_text(count, "thread"); }

  static std::string parked_text(const ThreadUses& uses) {
    const std::string_view end = uses.parked.size() == 1 ? "s" : "";
    return fmt::format("{} sleep{} or wait{} for a signal", threads(uses.parked.size()), end, end);
  }

  void tell(std::string text) { report_.evidence.push_back(std::move(text)); }

  const HeapMap* map() {
    try {
      return &sources_.heap().map();
    } catch (const Error&) {
      return nullptr; // that there is no heap is told where async methods are read
    }
  }

  AsyncWaiting read_async(const LockTable& table, const HeapWalkOptions& options) {
    try {
      if (table.with_heap) {
        AsyncReporter& reporter = sources_.async();
        AsyncWaiting waiting = AsyncWaits(reporter, locks_).read(options);
        if (waiting.left_out) report_.missing.push_back("some async methods could not be looked at");
        if (waiting.unreadable != 0)
          report_.missing.push_back(
              waiting.unreadable == 1
                  ? "1 task or async method cannot be read"
                  : fmt::format("{} tasks and async methods cannot be read", waiting.unreadable));
        return waiting;
      }
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::interrupted) throw;
      report_.missing.push_back(fmt::format("async methods that wait: {}", error.what()));
    }
    no_async_ = true;
    report_.missing.push_back(table.with_heap
                                  ? "async methods that wait are not known: the verdict is by threads alone"
                                  : "async methods that wait are not known without the heap: the verdict is "
                                    "by the stacks of threads alone");
    return {};
  }

  void tell_async(const AsyncWaiting& waiting) {
    const auto each = [&](const std::vector<AwaitGroup>& groups) {
      for (std::size_t i = 0; i < groups.size(); ++i) {
        if (i == max_groups) {
          tell(fmt::format("async calls wait at {} more place{}", groups.size() - max_groups,
                           groups.size() == max_groups + 1 ? "" : "s"));
          break;
        }
        tell(text_of(groups[i]));
      }
    };
    each(waiting.groups);
    each(waiting.others);
  }

  // The heap close to its limit; empty when it is not, or when no limit is known.
  std::string near_limit(const HeapWalkOptions& options) {
    const HeapMap* const heap = map();
    const auto limit = heap == nullptr
                           ? std::nullopt
                           : heap_limit(*locks_.runtime().objects(), sources_.program_name, report_.missing);
    if (!limit) return {};
    HeapFill fill{.limit = limit->bytes, .committed = heap->committed_bytes};
    // All of it, until it is worth the walk that tells.
    fill.survived = fill.committed;
    if (!is_near_limit(fill)) return {};
    report_.limit = limit;
    std::uint64_t live = 0, young = 0;
    const HeapStatistics statistics = sources_.heap().statistics(options);
    for (std::size_t i = 0; i < statistics.ranges.size() && i < heap->ranges.size(); ++i) {
      const std::uint64_t bytes = statistics.ranges[i].live.bytes;
      live += bytes;
      if (heap->ranges[i].part == HeapPart::gen0) young += bytes;
    }
    fill.survived = live - young;
    if (!is_near_limit(fill)) return {};
    return fmt::format("objects fill {} of the {} bytes that the heap may have ({})", live, limit->bytes,
                       limit->source);
  }

  std::string memory_trouble(const HeapWalkOptions& options, bool with_heap) {
    std::string thrown = thrown_for_memory();
    if (!thrown.empty() || !with_heap) return thrown;
    try {
      const std::vector<FaultedTask> tasks = sources_.async().faulted({}, options);
      const auto count = std::ranges::count_if(tasks, [](const FaultedTask& task) {
        return !task.observed && task.exception_type == out_of_memory_type;
      });
      if (count == 0) return near_limit(options);
      return count_text(static_cast<std::uint64_t>(count), "task") + " failed with an OutOfMemoryException";
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::interrupted) throw;
      report_.missing.push_back(fmt::format("whether memory is scarce: {}", error.what()));
      return {};
    }
  }

  void tell_memory(const std::string& memory, const HeapWalkOptions& options) {
    tell(memory);
    if (map() == nullptr || no_async_) return;
    report_.types = sources_.heap().count_types({.glob = {}, .part = {}, .top = told_types}, options).rows;
    for (const HeapTypeRow& row : report_.types)
      tell(fmt::format("{} bytes of the heap are {} of type {}", row.count.bytes,
                       count_text(row.count.objects, "object"), row.name));
  }

  std::string thrown_for_memory() {
    ExceptionReporter exceptions(locks_.runtime());
    for (const RuntimeThread& thread : stacks_.threads().threads) {
      const ExceptionReporter::OfThread found = exceptions.of_thread(thread);
      if (found.current() == 0) continue;
      try {
        const ExceptionReport report = exceptions.summary(found.current());
        if (report.exception.type == out_of_memory_type && thread.os_id)
          return fmt::format("an OutOfMemoryException {} {}",
                             found.in_flight.empty() ? "was the last one that was thrown by"
                                                     : "is in flight on",
                             locks_.thread_text(*thread.os_id));
      } catch (const Error& error) {
        report_.missing.push_back(
            fmt::format("the exception {:#x} of a thread: {}", found.current(), error.what()));
      }
    }
    return {};
  }

  // The largest of some groups of threads.
  struct Told {
    std::string text;
    std::size_t count = 0;
  };

  // Threads that do the same at the same place are one line.
  Told tell_groups(const LockTable& table, const std::vector<std::size_t>& indexes, std::string_view verb) {
    struct Group {
      std::size_t count = 0;
      const ThreadWait* first = nullptr;
    };
    std::map<std::pair<std::string, std::string>, Group> groups;
    for (const std::size_t i : indexes) {
      const ThreadWait& wait = table.waits[i];
      const std::string what = wait.what == ThreadWait::What::running ? ""
                               : wait.what == ThreadWait::What::sleep ? "asleep"
                               : wait.what == ThreadWait::What::idle  ? "without work"
                                                                      : locks_.wait_text(wait);
      Group& group = groups[{locks_.place_text(wait), what}];
      if (group.count++ == 0) group.first = &wait;
    }
    std::vector<std::pair<std::pair<std::string, std::string>, Group>> sorted(groups.begin(), groups.end());
    std::ranges::stable_sort(sorted,
                             [](const auto& a, const auto& b) { return a.second.count > b.second.count; });
    Told first;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      if (i == max_groups) {
        tell(sorted.size() == max_groups + 1
                 ? fmt::format("1 more group of threads {}s", verb)
                 : fmt::format("{} more groups of threads {}", sorted.size() - max_groups, verb));
        break;
      }
      const auto& [texts, group] = sorted[i];
      const std::string who =
          group.count == 1 ? locks_.thread_text(group.first->os_id) : threads(group.count);
      tell(fmt::format("{} {}{} in {}{}", who, verb, group.count == 1 ? "s" : "", texts.first,
                       texts.second.empty() ? "" : fmt::format(": {}", texts.second)));
      if (i == 0) first = {report_.evidence.back(), group.count};
    }
    return first;
  }

  // `first` is the largest group of the threads that are blocked, or else wait for the outside.
  static std::string waiting_text(const ThreadUses& uses, const AsyncWaiting& waiting, const Told& first) {
    std::string text;
    const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
    if (!waiting.groups.empty()) {
      add(text_of(waiting.groups.front()));
      if (const std::size_t rest = waiting.owed - waiting.groups.front().count; rest != 0)
        add(fmt::format("{} more async call{}", rest, rest == 1 ? " waits" : "s wait"));
    }
    if (first.count == 0) return text;
    add(first.text);
    const auto more = [&](std::size_t rest, std::string_view what) {
      if (rest != 0) add(fmt::format("{} more thread{}{}", rest, rest == 1 ? " waits" : "s wait", what));
    };
    const bool outside = uses.blocked.empty();
    if (!outside) more(uses.blocked.size() - first.count, "");
    more(uses.outside.size() - (outside ? first.count : 0), " for the outside");
    if (!outside) add("no deadlock was found");
    return text;
  }

  void summarize(const std::string& crash, const std::vector<Deadlock>& deadlocks, const std::string& memory,
                 const ThreadUses& uses, const std::string& waiting) {
    switch (report_.verdicts.front()) {
    case Verdict::crash:
      report_.text = crash;
      break;
    case Verdict::deadlock:
      report_.certain = std::ranges::any_of(
          deadlocks, [](const Deadlock& deadlock) { return deadlock.certain && !deadlock.ends; });
      report_.text = verdict_of(deadlocks);
      break;
    case Verdict::memory:
      report_.text = memory;
      break;
    case Verdict::starvation:
      report_.text = "the thread pool cannot begin the work that is queued";
      report_.certain = std::ranges::any_of(deadlocks, [](const Deadlock& deadlock) {
        return deadlock.kind == DeadlockKind::pool && deadlock.certain;
      });
      break;
    case Verdict::waiting:
      report_.text = waiting;
      report_.certain = false;
      break;
    case Verdict::busy:
      report_.text = uses.running.size() == 1
                         ? "1 thread runs code; whether it gets anywhere, another stop tells"
                         : fmt::format("{} threads run code; whether they get anywhere, another stop tells",
                                       uses.running.size());
      report_.certain = false;
      break;
    case Verdict::healthy:
      report_.text = "no thread fails, none waits for a lock or a reply, none works";
      if (!uses.parked.empty()) report_.text += "; " + parked_text(uses);
      report_.certain = !no_async_;
      break;
    case Verdict::unknown:
      report_.text = no_threads_ ? "none of its threads is known" : "too little of it can be read";
      report_.certain = false;
      break;
    }
  }

  TroubleSources& sources_;
  LockReporter& locks_;
  StackReporter& stacks_;
  TroubleReport report_;
  bool no_async_ = false, no_threads_ = false;
};

} // namespace

std::string text_of(const AwaitGroup& group) {
  const std::string awaited = text_with_object(group.waits_for);
  const std::string what = group.name.empty() ? awaited : fmt::format("{}, {},", group.name, awaited);
  return fmt::format("{} for {} in {}{}", calls(group.count, group.requests), what, text_of(*group.position),
                     group.holder.empty() ? "" : fmt::format(", probably held by {}", group.holder));
}

std::string verdict_text(const TroubleReport& report) {
  std::string text = fmt::format("{}{}: {}", report.certain ? "" : "probably ",
                                 to_string(report.verdicts.front()), report.text);
  for (std::size_t i = 1; i < report.verdicts.size(); ++i)
    text += fmt::format("{}{}", i == 1 ? "; also " : ", ", to_string(report.verdicts[i]));
  return text;
}

TroubleReport find_trouble(TroubleSources& sources, const std::string& crash,
                           const HeapWalkOptions& options) {
  return TroubleFinder(sources).find(crash, options);
}

} // namespace clr
