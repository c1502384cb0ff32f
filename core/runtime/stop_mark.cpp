#include "core/runtime/stop_mark.h"

#include "core/memory/word_hash.h"

#include <algorithm>
#include <unordered_map>

namespace clr {
namespace {

std::uint64_t place_of(const ThreadStack& stack) {
  WordHash hash;
  for (const StackFrame& frame : stack.frames) {
    hash.add(frame.pc());
    hash.add(frame.sp());
  }
  return hash.value();
}

// Objects keep their places as long as the parts of the heap do: each collection makes others of them.
bool moved(const StopMark& before, const StopMark& after) {
  return !std::ranges::all_of(before.ranges, [&](const auto& range) {
    return std::ranges::find(after.ranges, range) != after.ranges.end();
  });
}

// Takes one of `counts`; false when there is none left.
bool take(std::unordered_map<std::uint64_t, std::size_t>& counts, std::uint64_t key) {
  const auto found = counts.find(key);
  if (found == counts.end() || found->second == 0) return false;
  --found->second;
  return true;
}

void compare_chains(const StopMark& before, const StopMark& after, StopChange& change) {
  std::unordered_map<std::uint64_t, std::size_t> places, kinds;
  for (const ChainMark& chain : after.chains) ++places[chain.place];
  std::vector<const ChainMark*> lost;
  for (const ChainMark& chain : before.chains)
    take(places, chain.place) ? void(++change.chains.stood) : lost.push_back(&chain);
  for (const ChainMark& chain : after.chains)
    if (take(places, chain.place)) ++kinds[chain.kind]; // those that no chain of before has taken
  for (const ChainMark* const chain : lost) {
    if (!change.collected || !take(kinds, chain->kind)) {
      ++change.chains.moved;
      continue;
    }
    ++change.chains.stood;
    ++change.perhaps;
  }
}

} // namespace

std::string_view to_string(StopChange::Finding finding) {
  switch (finding) {
  case StopChange::Finding::nothing:
    return "nothing";
  case StopChange::Finding::hang:
    return "hang";
  case StopChange::Finding::wait:
    return "wait";
  }
  return "";
}

StopMark mark_stop(const LockTable& table, const ThreadUses& uses, std::vector<ChainMark> chains,
                   const HeapMap* map) {
  StopMark mark{.threads = {}, .chains = std::move(chains), .ranges = {}};
  for (const ThreadStack& stack : table.stacks)
    mark.threads.push_back({.os_id = stack.os_id, .place = place_of(stack)});
  const auto set = [&](const std::vector<std::size_t>& indexes, ThreadMark::Use use) {
    for (const std::size_t index : indexes) mark.threads[index].use = use;
  };
  set(uses.blocked, ThreadMark::Use::blocked);
  set(uses.outside, ThreadMark::Use::outside);
  set(uses.running, ThreadMark::Use::running);
  if (map != nullptr)
    for (const HeapRange& range : map->ranges) mark.ranges.emplace_back(range.begin, range.part);
  return mark;
}

StopChange compare(const StopMark& before, const StopMark& after) {
  StopChange change{.collected = moved(before, after)};
  std::unordered_map<std::uint64_t, std::uint64_t> places;
  for (const ThreadMark& thread : after.threads) places.emplace(thread.os_id, thread.place);
  for (const ThreadMark& thread : before.threads) {
    if (thread.use == ThreadMark::Use::other) continue;
    StopChange::Count& count = thread.use == ThreadMark::Use::blocked   ? change.blocked
                               : thread.use == ThreadMark::Use::outside ? change.outside
                                                                        : change.running;
    const auto found = places.find(thread.os_id);
    found != places.end() && found->second == thread.place ? ++count.stood : ++count.moved;
  }
  compare_chains(before, after, change);
  // Who waits in a call of the system for the outside does so in healthy programs, too.
  const std::size_t stood = change.blocked.stood + change.chains.stood,
                    went = change.blocked.moved + change.chains.moved;
  if (stood + went != 0)
    change.finding = stood >= went ? StopChange::Finding::hang : StopChange::Finding::wait;
  else if (change.outside.all() != 0)
    change.finding = StopChange::Finding::wait;
  return change;
}

} // namespace clr
