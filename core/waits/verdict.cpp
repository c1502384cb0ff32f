#include "core/waits/verdict.h"

namespace clr {
namespace {

// Of the limit of the heap.
constexpr unsigned near_percent = 85;
// Objects in regions that are not full, or behind those of the largest size, leave gaps.
constexpr unsigned survived_percent = 80;

} // namespace

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
  case Verdict::crash:
    return "crash";
  case Verdict::deadlock:
    return "deadlock";
  case Verdict::memory:
    return "memory";
  case Verdict::starvation:
    return "starvation";
  case Verdict::waiting:
    return "waiting";
  case Verdict::busy:
    return "busy";
  case Verdict::healthy:
    return "healthy";
  case Verdict::unknown:
    return "unknown";
  }
  return "";
}

ThreadUses thread_uses(const LockTable& table) {
  ThreadUses uses;
  for (std::size_t i = 0; i < table.waits.size() && i < table.stacks.size(); ++i) {
    const ThreadWait& wait = table.waits[i];
    const RuntimeThread* const thread = table.stacks[i].thread;
    const bool main = thread != nullptr && thread->managed_id == 1U;
    if (!wait.user_frame) {
      if (wait.what == ThreadWait::What::unknown && wait.managed_frame) ++uses.unknown;
      continue;
    }
    if (wait.what == ThreadWait::What::running) {
      uses.running.push_back(i);
      continue;
    }
    if (main) continue;
    switch (wait.what) {
    case ThreadWait::What::native:
      uses.outside.push_back(i);
      break;
    case ThreadWait::What::sleep:
      uses.parked.push_back(i);
      break;
    case ThreadWait::What::objects:
      (is_owed(wait.kind) || wait.in_request ? uses.blocked : uses.parked).push_back(i);
      break;
    case ThreadWait::What::unknown:
      ++uses.unknown;
      break;
    default:
      break;
    }
  }
  return uses;
}

bool is_near_limit(const HeapFill& heap) {
  const std::uint64_t percent = heap.limit / 100;
  return percent != 0 && heap.committed >= percent * near_percent &&
         heap.survived >= percent * survived_percent;
}

std::vector<Verdict> decide(const VerdictFacts& facts, const ThreadUses& uses) {
  std::vector<Verdict> verdicts;
  if (facts.crashed) verdicts.push_back(Verdict::crash);
  if (facts.deadlocked) verdicts.push_back(Verdict::deadlock);
  if (facts.out_of_memory) verdicts.push_back(Verdict::memory);
  if (facts.starved) verdicts.push_back(Verdict::starvation);
  // Those that wait for a thread that works wait for its work.
  const bool waits = !uses.blocked.empty() || !uses.outside.empty() || facts.waiting_chains != 0;
  if (waits && (uses.running.empty() || !uses.outside.empty() || facts.waiting_chains != 0))
    verdicts.push_back(Verdict::waiting);
  if (!uses.running.empty()) verdicts.push_back(Verdict::busy);
  if (verdicts.empty()) verdicts.push_back(uses.unknown == 0 ? Verdict::healthy : Verdict::unknown);
  return verdicts;
}

} // namespace clr
