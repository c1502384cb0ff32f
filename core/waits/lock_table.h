// Every lock that is held or waited for at one stop: who owns it, and who waits.
#pragma once

#include "core/waits/blocked_threads.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace clr {

// A thread that holds a lock.
struct LockHolder {
  // Nothing: no thread has this number any more. It ended without leaving the lock, or the number is damaged.
  std::optional<std::uint64_t> os_id;
  std::optional<std::uint32_t> managed_id;
};

struct LockRow {
  LockState state;
  // The owner; nothing: nobody, or not to be known, as state.owner_known says.
  std::optional<LockHolder> owner;
  // Of a task or signal: the thread that completes it when the callback of a timer returns, by its frames.
  std::optional<std::uint64_t> ender;
  std::vector<LockHolder> readers;  // of a rwlock, those that could be found
  std::vector<std::size_t> waiters; // indexes in LockTable::waits
  std::string fault;                // why its state could not be read
};

struct LockTable {
  std::vector<ThreadStack> stacks;
  std::vector<ThreadWait> waits; // of each of `stacks`
  std::vector<LockRow> locks;    // those with most waiters first
  // Threads by the tasks and signals that end when the callback of a timer returns, which they run.
  std::map<Address, std::uint64_t> enders;
  // False: the heap could not be walked. Then locks that nobody waits for are missing, but for those with a
  // sync block.
  bool with_heap = false;
  std::vector<std::string> problems;

  std::map<std::pair<Address, LockKind>, std::size_t> numbers; // of `locks`, by their objects

  // The row of an object that a thread waits for, by `numbers`; null when there is none. No reads.
  const LockRow* find(const WaitedObject& object) const;
};

// `index` is null without a heap, and `tasks_of` is not called then; with `held` locks that are held and that
// nobody waits for are looked for by the table of sync blocks. Parts that cannot be read cost themselves.
// Never throws for target data. Cost: that of BlockedThreads::of for each stack; some 3 reads for each lock;
// 5 for each ReaderWriterLockSlim that a thread has entered, max_all_reader_counts at most; with `held` that
// of SyncBlocks::all.
LockTable read_lock_table(ObjectReader& objects, MethodNames& names, LockIndex* index,
                          BlockedThreads::TasksOf tasks_of, const ThreadList& threads,
                          std::vector<ThreadStack> stacks, bool held = true);

// Rows of one table. A process has more only when memory is damaged.
constexpr std::size_t max_lock_rows = 1'000'000;
constexpr std::size_t max_lock_problems = 50;
// Locks that threads read under, of all threads together: all may lead to one long list.
constexpr std::size_t max_all_reader_counts = 500'000;

} // namespace clr
