#include "core/waits/lock_objects.h"

#include <fmt/format.h>

namespace clr {
namespace {

constexpr std::uint64_t lock_held = 1;
constexpr unsigned lock_waiters_shift = 7;
constexpr std::uint64_t rw_readers = 0x0fff'ffff;
constexpr std::uint64_t event_set = 0x8000'0000, event_waiters = 0x7'ffff;
constexpr std::uint64_t barrier_total = 0x7fff, barrier_current = 0x7fff'0000;
constexpr unsigned barrier_current_shift = 16;

std::uint32_t low(std::uint64_t value) {
  return static_cast<std::uint32_t>(value);
}

void read_lock(InstanceReader& reader, const Instance& instance, LockState& state) {
  const std::uint64_t bits = low(reader.integer(instance, "_state"));
  state.held = (bits & lock_held) != 0;
  state.waiters = bits >> lock_waiters_shift;
  if (!state.held) return;
  const std::uint32_t owner = low(reader.integer(instance, "_owningThreadId"));
  // The lock that can be that of any object (.NET 11) keeps the managed number of the thread, as all those
  // do. Before, on another system than Unix it is that number, too; there the two are told apart by nothing.
  if (reader.find(instance, "_waitEventOrCondition"))
    state.owner_managed_id = owner;
  else
    state.owner_os_id = owner;
  state.entries = low(reader.integer(instance, "_recursionCount")) + 1;
}

void read_rwlock(InstanceReader& reader, const Instance& instance, LockState& state) {
  const std::uint32_t writer = low(reader.integer(instance, "_writeLockOwnerId"));
  const std::uint32_t upgrader = low(reader.integer(instance, "_upgradeLockOwnerId"));
  constexpr std::uint32_t nobody = ~std::uint32_t{0};
  state.lock_id = reader.integer(instance, "_lockID");
  state.reader_count = low(reader.integer(instance, "_owners") & rw_readers);
  state.held = writer != nobody || upgrader != nobody;
  state.upgradeable = writer == nobody && upgrader != nobody;
  // Who may want to write counts as a reader, too.
  if (upgrader != nobody && state.reader_count > 0) --state.reader_count;
  if (state.held) {
    state.owner_managed_id = writer != nobody ? writer : upgrader;
    state.entries = 1;
  }
  std::uint64_t waiters = 0;
  for (const char* name :
       {"_numWriteWaiters", "_numReadWaiters", "_numWriteUpgradeWaiters", "_numUpgradeWaiters"})
    waiters += low(reader.integer(instance, name));
  state.waiters = waiters;
}

// The older one: its readers and those that wait are counted in one word.
void read_old_rwlock(InstanceReader& reader, const Instance& instance, LockState& state) {
  constexpr std::uint32_t nobody = ~std::uint32_t{0};
  constexpr std::uint64_t readers = 0x3ff, waiting_readers = 0x3ff, waiting_writers = 0x1ff;
  constexpr unsigned waiting_readers_shift = 13, waiting_writers_shift = 23;
  const std::uint64_t bits = low(reader.integer(instance, "_state"));
  const std::uint32_t writer = low(reader.integer(instance, "_writerID"));
  state.old_rwlock = true;
  state.lock_id = reader.integer(instance, "_lockID");
  state.reader_count = low(bits & readers);
  state.held = writer != nobody;
  if (state.held) {
    state.owner_managed_id = writer;
    state.entries = low(reader.integer(instance, "_writerLevel"));
  }
  state.waiters =
      (bits >> waiting_readers_shift & waiting_readers) + (bits >> waiting_writers_shift & waiting_writers);
}

void read_barrier(InstanceReader& reader, const Instance& instance, LockState& state) {
  const FieldPlace field = reader.field(instance, "_currentTotalCount");
  // The count is a number, or a structure of one.
  const std::uint64_t packed = reader.target().read_u32(field.at);
  state.text = fmt::format("{} of {} have arrived", (packed & barrier_current) >> barrier_current_shift,
                           packed & barrier_total);
}

} // namespace

std::string_view to_string(LockKind kind) {
  switch (kind) {
  case LockKind::monitor:
    return "monitor";
  case LockKind::lock:
    return "lock";
  case LockKind::rwlock:
    return "rwlock";
  case LockKind::semaphore:
    return "semaphore";
  case LockKind::event:
    return "event";
  case LockKind::mutex:
    return "mutex";
  case LockKind::barrier:
    return "barrier";
  case LockKind::countdown:
    return "countdown";
  case LockKind::wait_handle:
    return "wait_handle";
  case LockKind::condition:
    return "condition";
  case LockKind::task:
    return "task";
  case LockKind::class_init:
    return "class_init";
  case LockKind::thread:
    return "join";
  case LockKind::finalizers:
    return "finalizers";
  case LockKind::callback:
    return "callback";
  }
  return "";
}

LockState read_lock_state(InstanceReader& reader, const Instance& instance, Address object, LockKind kind) {
  LockState state{.object = object, .kind = kind};
  switch (kind) {
  case LockKind::lock:
    read_lock(reader, instance, state);
    break;
  case LockKind::rwlock:
    if (reader.find(instance, "_writerID"))
      read_old_rwlock(reader, instance, state);
    else
      read_rwlock(reader, instance, state);
    break;
  case LockKind::semaphore:
    if (reader.find(instance, "m_currentCount")) {
      state.waiters = low(reader.integer(instance, "m_waitCount"));
      state.text =
          fmt::format("count {}", static_cast<std::int64_t>(reader.integer(instance, "m_currentCount")));
    }
    break;
  case LockKind::event:
    if (reader.find(instance, "m_combinedState")) {
      const std::uint64_t bits = low(reader.integer(instance, "m_combinedState"));
      state.waiters = bits & event_waiters;
      state.text = (bits & event_set) != 0 ? "set" : "not set";
    }
    break;
  case LockKind::barrier:
    read_barrier(reader, instance, state);
    break;
  case LockKind::countdown:
    state.text = fmt::format("{} of {} signals to come",
                             static_cast<std::int64_t>(reader.integer(instance, "_currentCount")),
                             static_cast<std::int64_t>(reader.integer(instance, "_initialCount")));
    break;
  case LockKind::mutex:
    state.owner_known = false; // the runtime keeps it outside of managed memory
    break;
  default:
    break;
  }
  return state;
}

std::vector<ReaderCount> read_reader_counts(InstanceReader& reader, Address first, std::size_t& left) {
  std::vector<ReaderCount> counts;
  for (Address at = first; at != 0;) {
    if (counts.size() >= max_reader_counts) throw_corrupt(at, "a list of readers that does not end");
    if (left == 0) throw_corrupt(at, "too many readers of locks");
    --left;
    const Instance instance = reader.of_object(at);
    if (reader.find(instance, "_readerLevel")) {
      counts.push_back({.lock_id = reader.integer(instance, "_lockID"),
                        .readers = low(reader.integer(instance, "_readerLevel"))});
      at = reader.reference(instance, "_next");
      continue;
    }
    counts.push_back({.lock_id = reader.integer(instance, "lockID"),
                      .readers = low(reader.integer(instance, "readercount")),
                      .writers = low(reader.integer(instance, "writercount")),
                      .upgraders = low(reader.integer(instance, "upgradecount"))});
    at = reader.reference(instance, "next");
  }
  return counts;
}

} // namespace clr
