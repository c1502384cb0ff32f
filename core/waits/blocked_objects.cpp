// The objects that a waiting thread's stack names: those that its frames hold by GC info, then words of the
// stack.
#include "core/waits/blocked_run.h"

#include <array>

namespace clr {
namespace {

constexpr std::string_view many_words = "too many words of stacks";

constexpr const char* name_of(LockKind kind) {
  switch (kind) {
  case LockKind::task:
    return "System.Threading.Tasks.Task";
  case LockKind::semaphore:
    return "System.Threading.SemaphoreSlim";
  case LockKind::countdown:
    return "System.Threading.CountdownEvent";
  case LockKind::barrier:
    return "System.Threading.Barrier";
  case LockKind::rwlock:
    return "System.Threading.ReaderWriterLockSlim";
  case LockKind::thread:
    return "System.Threading.Thread";
  case LockKind::event:
    return "System.Threading.ManualResetEventSlim";
  default:
    return "System.Threading.WaitHandle";
  }
}

} // namespace

// Of the frames above the user's: what a frame of the user holds may be a lock that it owns.
std::vector<Address> BlockedThreads::live_objects(const Thread& thread,
                                                  std::optional<std::size_t> of_frame) const {
  std::vector<Address> found;
  std::unordered_set<Address> known;
  for (const FrameRoots& frame : thread.stack.roots) {
    if (thread.wait.user_frame && frame.frame >= *thread.wait.user_frame) break;
    if (of_frame && frame.frame != *of_frame) continue;
    for (const StackRoot& root : frame.roots)
      if (!root.slot.interior && root.why_uncertain.empty() && known.insert(root.value).second)
        found.push_back(root.value);
  }
  return found;
}

std::vector<Address> BlockedThreads::words(const Thread& thread) {
  const unsigned size = target_->pointer_size();
  const std::vector<StackFrame>& frames = thread.stack.frames;
  if (frames.empty()) return {};
  const Address begin = frames.front().sp() & ~Address{size - 1};
  const Address end = frames[thread.wait.user_frame.value_or(frames.size() - 1)].sp();
  if (end <= begin) return {};
  std::size_t count = std::min<std::uint64_t>(end - begin, max_scan) / size;
  if (count > words_left_) {
    count = words_left_;
    if (reached_limit_.empty()) reached_limit_ = many_words;
  }
  words_left_ -= count;
  std::vector<std::byte> bytes(count * size);
  bytes.resize(target_->memory().read_some(begin, bytes) / size * size);
  std::vector<Address> found;
  for (std::size_t at = 0; at < bytes.size(); at += size) {
    const auto word = std::span(bytes).subspan(at);
    found.push_back(size == 8 ? load<std::uint64_t>(word, target_->platform().byte_order)
                              : load<std::uint32_t>(word, target_->platform().byte_order));
  }
  return found;
}

std::string BlockedThreads::type_name(Address object) {
  return framework_type_name(*reader_.of_object(object).layout.name);
}

bool BlockedThreads::derives(Address object, std::string_view name) {
  try {
    return reader_.derives_from(reader_.of_object(object).layout, name);
  } catch (const Error& error) {
    // Many words are no objects.
    if (error.kind() == ErrorKind::unsupported_contract) remember(error.what());
    return false;
  }
}

bool BlockedThreads::word_derives(Address word, std::string_view name) {
  // Words that are no addresses of objects are many.
  const unsigned size = target_->pointer_size();
  if (word % size != 0 || word < 0x10000) return false;
  std::array<std::byte, sizeof(Address)> bytes{};
  const auto first = std::span(bytes).first(size);
  if (target_->memory().read_some(word, first) < size) return false;
  const Address table = size == 8 ? load<std::uint64_t>(first, target_->platform().byte_order)
                                  : load<std::uint32_t>(first, target_->platform().byte_order);
  if (no_types_.contains(table) || !take_one(wrong_left_, "too many words of stacks are no objects"))
    return false;
  try {
    const bool derived = reader_.derives_from(reader_.of_object(word).layout, name);
    ++wrong_left_; // it is one
    return derived;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::unsupported_contract) remember(error.what());
    no_types_.insert(table);
    return false;
  }
}

LockKind BlockedThreads::kind_of(Address object, LockKind otherwise) {
  if (const LockIndex::Entry* entry = index_ == nullptr ? nullptr : index_->find(object)) return entry->kind;
  if (derives(object, "System.Threading.Mutex")) return LockKind::mutex;
  if (derives(object, "System.Threading.Semaphore")) return LockKind::semaphore;
  if (derives(object, "System.Threading.EventWaitHandle")) return LockKind::event;
  return otherwise;
}

void BlockedThreads::find_primitive(Thread& thread, LockKind kind) {
  thread.wait.kind = kind;
  for (const Address object : live_objects(thread)) {
    if (!derives(object, name_of(kind)) &&
        !(kind == LockKind::rwlock && derives(object, "System.Threading.ReaderWriterLock")))
      continue;
    if (kind == LockKind::task) return add_task(thread, object);
    return add(thread, object, kind);
  }
}

// By the class of the framework whose method waits; the outer ones come first.
bool BlockedThreads::find_primitive_by_class(Thread& thread) {
  constexpr std::array<std::pair<std::string_view, LockKind>, 6> classes = {
      {{"System.Threading.Tasks.Task.", LockKind::task},
       {"System.Threading.SemaphoreSlim.", LockKind::semaphore},
       {"System.Threading.CountdownEvent.", LockKind::countdown},
       {old_rwlock, LockKind::rwlock},
       {"System.Threading.Barrier.", LockKind::barrier},
       {"System.Threading.ManualResetEventSlim.", LockKind::event}}};
  for (const auto& [prefix, kind] : classes) {
    if (!thread.calls(prefix)) continue;
    find_primitive(thread, kind);
    return true;
  }
  return false;
}

void BlockedThreads::find_rwlock(Thread& thread) {
  ThreadWait& wait = thread.wait;
  wait.kind = LockKind::rwlock;
  wait.mode = thread.calls("System.Threading.ReaderWriterLockSlim.TryEnterWrite")         ? WaitMode::write
              : thread.calls("System.Threading.ReaderWriterLockSlim.TryEnterUpgradeable") ? WaitMode::upgrade
                                                                                          : WaitMode::read;
  find_primitive(thread, LockKind::rwlock);
  if (!wait.objects.empty() || index_ == nullptr) return;
  for (const Address word : words(thread)) {
    const LockIndex::Entry* const entry = index_->find(word);
    const Address owner = entry == nullptr ? 0 : index_->owner_of(word);
    const LockIndex::Entry* const outer = owner == 0 ? entry : index_->find(owner);
    if (outer == nullptr || outer->kind != LockKind::rwlock) continue;
    wait.certain = false;
    return add(thread, outer->object, LockKind::rwlock);
  }
}

void BlockedThreads::find_joined(Thread& thread) {
  thread.wait.kind = LockKind::thread;
  const Address own = thread.stack.thread != nullptr ? thread.stack.thread->managed_object : 0;
  const std::vector<Address> live = live_objects(thread);
  for (const Address object : live)
    if (object != own && derives(object, name_of(LockKind::thread)))
      return add(thread, object, LockKind::thread);
  for (const Address object : live)
    if (const Address joined = joined_by(object)) return add(thread, joined, LockKind::thread);
  thread.wait.certain = false;
  // Where Join was inlined, the caller holds the Thread. It may hold others.
  if (thread.wait.user_frame && thread.wait.user_frame == thread.wait.managed_frame) {
    std::unordered_set<Address> held;
    for (const FrameRoots& frame : thread.stack.roots)
      if (frame.frame == *thread.wait.user_frame)
        for (const StackRoot& root : frame.roots)
          if (!root.slot.interior && root.value != own && !held.contains(root.value) &&
              derives(root.value, name_of(LockKind::thread)))
            held.insert(root.value);
    if (held.size() == 1) return add(thread, *held.begin(), LockKind::thread);
  }
  for (const Address word : words(thread))
    if (word != own && word_derives(word, name_of(LockKind::thread)) && !is_own(thread, word))
      return add(thread, word, LockKind::thread);
  // No other thread is in sight, and Join was called for this one.
  if (thread.stack.gaps || own == 0) return;
  if (is_among(live, own) || is_held_by(thread, thread.wait.user_frame, own))
    add(thread, own, LockKind::thread);
}

bool BlockedThreads::is_held_by(const Thread& thread, std::optional<std::size_t> frame, Address object) {
  return frame && std::ranges::any_of(thread.stack.roots, [&](const FrameRoots& roots) {
           return roots.frame == *frame && std::ranges::any_of(roots.roots, [&](const StackRoot& root) {
                    return !root.slot.interior && root.value == object;
                  });
         });
}

// From .NET 11 on threads are joined by an event that each has.
Address BlockedThreads::joined_by(Address safe) {
  if (threads_ == nullptr) return 0;
  if (!join_handles_) {
    join_handles_.emplace();
    for (const RuntimeThread& thread : threads_->threads) try {
        if (thread.managed_object == 0) continue;
        const Instance object = reader_.of_object(thread.managed_object);
        if (!reader_.find(object, "_joinEvent")) continue;
        if (const Address event = reader_.reference(object, "_joinEvent"))
          join_handles_->emplace(reader_.reference(reader_.of_object(event), "_waitHandle"),
                                 thread.managed_object);
      } catch (const Error&) {
        continue; // nobody is known to wait for a thread that cannot be read
      }
  }
  const auto found = join_handles_->find(safe);
  return found == join_handles_->end() ? 0 : found->second;
}

// Memory that the collector has left may still hold a copy of the thread's own object.
bool BlockedThreads::is_own(const Thread& thread, Address object) {
  try {
    return thread.stack.thread != nullptr &&
           reader_.integer(reader_.of_object(object), "_DONT_USE_InternalThread") ==
               thread.stack.thread->address;
  } catch (const Error&) {
    return false;
  }
}

void BlockedThreads::add_handles(Thread& thread, const std::vector<Address>& safe_handles) {
  for (const Address safe : safe_handles) {
    if (!take_one(words_left_, many_words)) return;
    for (const Address handle : index_->handles_of(safe)) {
      if (thread.wait.objects.size() >= max_objects) return;
      // The event of a lock means the lock.
      const Address owner = index_->owner_of(handle);
      const LockIndex::Entry* const entry = owner == 0 ? nullptr : index_->find(owner);
      if (entry != nullptr)
        add(thread, owner, entry->kind);
      else
        add(thread, handle, kind_of(handle, LockKind::wait_handle));
    }
  }
}

void BlockedThreads::find_handle(Thread& thread) {
  ThreadWait& wait = thread.wait;
  wait.kind = LockKind::wait_handle;
  const std::vector<Address> live = live_objects(thread);
  if (index_ != nullptr)
    for (const Address object : live)
      if (index_->is_safe_handle(object)) add_handles(thread, {object});
  if (!wait.objects.empty()) return;
  for (const Address object : live)
    if (derives(object, name_of(LockKind::wait_handle)))
      return add(thread, object, kind_of(object, LockKind::wait_handle));
  wait.certain = false;
  if (index_ == nullptr) return;
  for (const Address word : words(thread))
    if (index_->is_safe_handle(word)) return add_handles(thread, {word});
}

// SignalAndWait holds the handle that it signalled and the one that it waits for; nothing tells them apart.
void BlockedThreads::find_one_of_two(Thread& thread) {
  thread.wait.kind = LockKind::wait_handle;
  thread.wait.any = true;
  thread.wait.certain = false;
  if (index_ == nullptr) return;
  std::vector<Address> safe;
  for (const Address object : live_objects(thread))
    if (index_->is_safe_handle(object)) safe.push_back(object);
  std::unordered_set<Address> known;
  if (safe.empty())
    for (const Address word : words(thread))
      if (index_->is_safe_handle(word) && known.insert(word).second) safe.push_back(word);
  add_handles(thread, safe);
}

void BlockedThreads::find_handles(Thread& thread) {
  ThreadWait& wait = thread.wait;
  wait.kind = LockKind::wait_handle;
  wait.any = !thread.calls("System.Threading.WaitHandle.WaitAll");
  if (index_ == nullptr) {
    wait.certain = false;
    return;
  }
  // The system's numbers of the handles were copied to the stack, one behind the other. The longest run of
  // words that are such numbers is that copy.
  std::vector<std::uint64_t> best, run;
  bool alone = true;
  const auto end_run = [&] {
    if (run.size() == best.size() && run != best) alone = false;
    if (run.size() > best.size()) {
      best = run;
      alone = true;
    }
    run.clear();
  };
  for (const Address word : words(thread)) {
    if (word != 0 && index_->is_handle(word))
      run.push_back(word);
    else
      end_run();
  }
  end_run();
  wait.certain = alone && best.size() > 1;
  std::unordered_set<std::uint64_t> known;
  for (const std::uint64_t handle : best)
    if (known.insert(handle).second) add_handles(thread, index_->safe_handles_of(handle));
}

// What a wait for a lock wants of it, where the primitive that was found does not tell.
void BlockedThreads::settle_mode(Thread& thread) {
  ThreadWait& wait = thread.wait;
  if (wait.what != ThreadWait::What::objects || wait.mode != WaitMode::wait) return;
  // A Lock, and from .NET 11 on that of an object, is entered by managed code.
  if (wait.kind == LockKind::lock || wait.kind == LockKind::monitor) wait.mode = WaitMode::enter;
  if (wait.kind != LockKind::rwlock) return;
  const bool writes = thread.calls("System.Threading.ReaderWriterLock.AcquireWriter") ||
                      thread.calls("System.Threading.ReaderWriterLock.UpgradeTo");
  wait.mode = writes ? WaitMode::write : WaitMode::read;
}

std::string_view purpose_text(WaitMode mode) {
  switch (mode) {
  case WaitMode::enter:
    return "to enter";
  case WaitMode::wait:
    return "";
  case WaitMode::read:
    return "to read";
  case WaitMode::write:
    return "to write";
  case WaitMode::upgrade:
    return "to read with the right to write";
  }
  return "";
}

} // namespace clr
