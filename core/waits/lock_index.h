// The objects of the heap that threads hold or wait for, and which of them is a part of which: a thread that
// waits for a semaphore waits in truth for the lock within it.
#pragma once

#include "core/waits/heap_pass.h"
#include "core/waits/lock_objects.h"

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace clr {

class LockIndex {
public:
  // Adds what it wants to `pass`. No reads.
  explicit LockIndex(HeapPass& pass);
  // Adds to a pass that it looks at the word before each object, where the lock of an object is.
  static void want_headers(HeapPass& pass);

  // Takes what the pass found, and the objects `headed` that a pass found by their headers. An object that
  // cannot be read costs itself; `problems` gets the first reasons. Cost: some 3 reads for each object.
  void take(const HeapPassResult& result, const std::vector<FoundObject>& headed, InstanceReader& reader);

  struct Entry {
    LockKind kind = LockKind::monitor;
    Address object = 0, method_table = 0;
  };
  // All of Lock, ReaderWriterLockSlim, SemaphoreSlim, ManualResetEventSlim, CountdownEvent, Barrier and of
  // WaitHandle, by address.
  const std::vector<Entry>& entries() const { return entries_; }
  // The one at this address; null when it is none. No reads.
  const Entry* find(Address object) const;
  // Objects whose header says that they are locked, or that they have a sync block.
  const std::vector<FoundObject>& headed() const { return headed_; }

  // What the object `inner` is a part of, at the outermost: the lock of a semaphore leads to it, the lock of
  // an event within a CountdownEvent to the CountdownEvent. 0: nothing that is known. No reads.
  Address owner_of(Address inner) const;
  // The wait handles that share a SafeWaitHandle; and the SafeWaitHandles of a handle of the system. The
  // first max_sharing by their addresses: an honest process has one or two.
  std::vector<Address> handles_of(Address safe_handle) const;
  std::vector<Address> safe_handles_of(std::uint64_t value) const;
  bool is_safe_handle(Address object) const { return handles_.contains(object); }
  // Whether a SafeWaitHandle has this number of the system.
  bool is_handle(std::uint64_t value) const;

  const std::vector<std::string>& problems() const { return problems_; }
  // Some objects were left out, because there are too many or because they could not be read.
  bool whole() const { return whole_; }

  static constexpr std::size_t max_problems = 20;
  static constexpr unsigned max_nesting = 4; // parts within parts
  static constexpr std::size_t max_sharing = 100;

private:
  void add_parts(const Entry& entry, InstanceReader& reader);
  void add_handle(Address handle, const Instance& instance, InstanceReader& reader);
  void note(const Error& error);

  struct Want {
    LockKind kind;
    std::size_t index;
  };
  std::vector<Want> wants_;
  std::size_t want_safe_ = 0;

  std::vector<Entry> entries_;
  std::vector<FoundObject> headed_;
  std::unordered_map<Address, std::uint32_t> by_address_;
  std::unordered_map<Address, Address> owners_;                 // by part
  using Pairs = std::vector<std::pair<std::uint64_t, Address>>; // sorted
  static std::vector<Address> of(const Pairs& pairs, std::uint64_t key);
  Pairs handles_of_;                    // by SafeWaitHandle
  std::unordered_set<Address> handles_; // SafeWaitHandles
  Pairs by_value_;                      // SafeWaitHandles
  bool whole_ = true;
  std::vector<std::string> problems_;
};

} // namespace clr
