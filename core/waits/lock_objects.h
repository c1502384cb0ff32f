// Objects of the framework that threads hold or wait for, and their state. Fields are found by their names.
// Source: dotnet/runtime src/libraries/System.Private.CoreLib/src/System/Threading/{Lock,SemaphoreSlim,
// ManualResetEventSlim,ReaderWriterLockSlim,CountdownEvent,WaitHandle}.cs,
// src/libraries/System.Threading/src/System/Threading/{Barrier,ReaderWriterLock}.cs.
#pragma once

#include "core/objects/instance_reader.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace clr {

enum class LockKind : std::uint8_t {
  monitor,     // the lock of any object
  lock,        // System.Threading.Lock
  rwlock,      // ReaderWriterLockSlim, and the older ReaderWriterLock
  semaphore,   // SemaphoreSlim and Semaphore
  event,       // ManualResetEventSlim, ManualResetEvent, AutoResetEvent
  mutex,       // Mutex
  barrier,     // Barrier
  countdown,   // CountdownEvent
  wait_handle, // any other WaitHandle
  condition,   // Monitor.Wait: until somebody pulses the object
  task,        // a task that is not done
  class_init,  // the constructor of a class; the "object" is its MethodTable
  thread,      // Thread.Join; the object is the Thread
  finalizers,  // GC.WaitForPendingFinalizers; the object is the Thread that runs finalizers
  callback,    // the end of a callback that a CancellationTokenSource runs; the object is its Registrations
};
// Whether who waits for such a thing waits for a thread, and for no lock.
constexpr bool is_of_thread(LockKind kind) {
  return kind == LockKind::thread || kind == LockKind::finalizers || kind == LockKind::callback;
}
std::string_view to_string(LockKind kind); // words of JSON

struct LockState {
  Address object = 0;
  LockKind kind = LockKind::monitor;
  bool thin = false;       // a monitor in the word before its object
  bool owner_known = true; // false: it has one, or may have one, that memory does not tell
  bool held = false;       // by one owner; then at least one of the two numbers is not 0
  std::uint32_t owner_managed_id = 0;
  std::uint64_t owner_os_id = 0;
  std::uint32_t entries = 0;            // how often the owner entered it
  bool upgradeable = false;             // a rwlock that its owner may read and may want to write
  std::uint32_t reader_count = 0;       // of a rwlock
  std::uint64_t lock_id = 0;            // of a rwlock: its number in the lists of readers
  bool old_rwlock = false;              // a ReaderWriterLock, whose numbers and lists are others
  std::optional<std::uint64_t> waiters; // as the lock itself counts them
  std::string text;                     // "1 of 3 signals to come"; may be empty
};

// The state of an object of kind lock, rwlock, semaphore (the slim one), event (the slim one), barrier or
// countdown; of the others only what they are. Throws Error as InstanceReader does. Some reads.
LockState read_lock_state(InstanceReader& reader, const Instance& instance, Address object, LockKind kind);

// What a thread keeps of one ReaderWriterLockSlim, or of one ReaderWriterLock, where it notes readers only.
struct ReaderCount {
  std::uint64_t lock_id = 0;
  std::uint64_t readers = 0, writers = 0, upgraders = 0; // how often it entered
};
constexpr std::size_t max_reader_counts = 10'000;
// The list that begins with the object at `first`, at most max_reader_counts of it, and as many as `left`
// says, which is counted down. Throws Error{corrupt} for a list that does not end there. 5 reads for each.
std::vector<ReaderCount> read_reader_counts(InstanceReader& reader, Address first, std::size_t& left);

} // namespace clr
