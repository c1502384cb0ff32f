// What each thread waits for, and how that is known.
// Source: dotnet/runtime src/libraries/System.Private.CoreLib/src/System/Threading/ThreadBlockingInfo.cs,
// which the runtime keeps for debuggers; the frames of the framework's own methods.
#pragma once

#include "core/stack/stack_roots.h"
#include "core/types/method_names.h"
#include "core/waits/core_library.h"
#include "core/waits/lock_index.h"
#include "core/waits/lock_words.h"
#include "core/waits/monitor_locks.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace clr {

// The stack of a thread, as a walk and StackRoots give it.
struct ThreadStack {
  std::uint64_t os_id = 0;
  const RuntimeThread* thread = nullptr; // null: the runtime does not know the thread
  std::vector<StackFrame> frames;        // innermost first
  std::vector<FrameRoots> roots;
  bool gaps = false; // frames may be missing

  static constexpr std::size_t max_frames = 2'000; // that are looked at; a wait is at the innermost ones
};

enum class WaitMode : std::uint8_t { enter, wait, read, write, upgrade };
std::string_view to_string(WaitMode mode); // words of JSON
// What a thread waits to do with a lock: "to enter"; empty when it is nothing of these.
std::string_view purpose_text(WaitMode mode);

struct WaitedObject {
  Address object = 0;
  LockKind kind = LockKind::monitor;
};

struct ThreadWait {
  enum class What : std::uint8_t {
    unknown, // its stack does not tell
    running, // it executes managed code, or native code that it called
    objects, // it waits for `objects`
    sleep,
    native, // it is in native code that managed code called, in a call of the system: `native`
    idle,   // a thread of the runtime that has nothing to do
  };
  std::uint64_t os_id = 0;
  What what = What::unknown;
  // Empty where it is known how the thread waits, but not for which object.
  std::vector<WaitedObject> objects;
  LockKind kind = LockKind::monitor; // of what it waits for, whether objects are known or not
  WaitMode mode = WaitMode::wait;
  bool any = false;                        // one of the objects is enough
  bool certain = true;                     // false: by words on the stack, which may be old
  std::optional<std::uint64_t> timeout_ms; // nothing: none, or not known
  std::string native;                      // the method that called native code, for people
  std::optional<std::size_t> native_frame; // of the function that this method called
  bool in_request = false; // it answers a request of ASP.NET's server; looked at where it waits for a signal
  // Indexes of frames: the innermost managed one, and the innermost one of code that is not the framework's.
  std::optional<std::size_t> managed_frame, user_frame;
};

// Whether a module is a part of the framework: "System.Private.CoreLib.dll".
bool is_framework_module(std::string_view module);

// Whether a method of the framework, by its full name, answers requests of ASP.NET's server.
// Source: dotnet/aspnetcore src/Servers/Kestrel/Core/src/Internal/Http/HttpProtocol.cs.
bool answers_requests(std::string_view method);

// Whether who waits for such a thing is kept by somebody who has it or works on it. The others are signals,
// which may just as well tell that there is work.
bool is_owed(LockKind kind);

class BlockedThreads {
public:
  // The tasks that will set an event with which a thread waits for them.
  using TasksOf = std::function<std::vector<Address>(Address event)>;

  // All must outlive this. `index` is null when the heap cannot be walked; then the stacks alone tell. No
  // reads.
  BlockedThreads(ObjectReader& objects, MethodNames& names, CoreLibrary& library, LockIndex* index,
                 TasksOf tasks_of)
      : target_(&objects.finder().target()), reader_(objects), names_(&names), library_(&library),
        index_(index), tasks_of_(std::move(tasks_of)), blocks_(*target_), monitors_(blocks_) {}

  // The threads by whose events it is known, from .NET 11 on, for whose end another one waits. They must
  // outlive this. No reads.
  void set_threads(const ThreadList& threads) { threads_ = &threads; }

  // Never throws for target data. Cost: that of naming the frames up to the first one of the user's, and some
  // 10 reads; with words of the stack 1 read for 64 KiB.
  ThreadWait of(const ThreadStack& stack);

  // For threads that wait for the constructor of a class: sets the class, where a thread runs a constructor
  // and its MethodTable lies on the waiting stack. Never throws.
  void find_classes(const std::vector<ThreadStack>& stacks, std::vector<ThreadWait>& waits);
  // Why the runtime's own word was not found where this runtime has one; empty when it was.
  const std::string& problem() const { return problem_; }
  // Why a frame has no name that would tell what its thread waits for, of the first such one; empty: all
  // have.
  const std::string& nameless() const { return nameless_; }
  // The first thing that went wrong where a thread's objects were searched; empty: nothing.
  const std::string& first_fault() const { return first_fault_; }
  // Which limit of all threads together was reached first, for people; empty: none. Threads that were looked
  // at later may wait for objects that are not told.
  const std::string& reached_limit() const { return reached_limit_; }
  // Which locks of the framework are those of objects.
  MonitorLocks& monitors() { return monitors_; }
  // The tasks and signals that timers owe to who disposed them, until their callbacks on this stack return.
  // Never throws.
  std::vector<Address> told_by_timers(const ThreadStack& stack);
  // The classes whose constructors stand on a stack.
  std::vector<Address> constructors(const ThreadStack& stack);

  static constexpr std::uint64_t max_scan = 64 * 1024;   // bytes of a stack that are searched for words
  static constexpr std::size_t max_objects = 1'000;      // that one thread waits for
  static constexpr std::size_t max_request_frames = 400; // in which a request is looked for
  // Of all threads together: async waiters of semaphores, each of which is looked at once; elements of lists
  // of tasks of which one is enough; words of stacks; and those of them that are no objects or types, which
  // cost an exception each.
  static constexpr std::size_t max_line = 1'000'000;
  static constexpr std::size_t max_listed_tasks = 2'000'000;
  static constexpr std::size_t max_words = 16 * 1024 * 1024;
  static constexpr std::size_t max_wrong_words = 500'000;

private:
  void remember(const std::string& fault) {
    if (first_fault_.empty()) first_fault_ = fault;
  }
  struct Named {
    std::size_t frame = 0;
    Method method;
  };
  struct Thread;
  void by_blocking_info(Thread& thread);
  bool is_in_request(const Thread& thread);
  void wait_on_monitor(Thread& thread, Address object);
  void wait_for_tasks(Thread& thread, Address event);
  void add_task(Thread& thread, Address task);
  Address semaphore_of(Address node);
  Address shared_of(Address word, const std::unordered_set<Address>& classes);
  bool has_generic(const std::unordered_set<Address>& classes);
  // Counts down what is left for all threads; false when that is nothing, which `what` names.
  bool take_one(std::size_t& left, std::string_view what);
  void by_frames(Thread& thread);
  void find_primitive(Thread& thread, LockKind kind);
  bool find_primitive_by_class(Thread& thread);
  void find_rwlock(Thread& thread);
  void find_handle(Thread& thread);
  void find_handles(Thread& thread);
  void find_one_of_two(Thread& thread);
  void find_joined(Thread& thread);
  static bool is_held_by(const Thread& thread, std::optional<std::size_t> frame, Address object);
  // The Thread of which the SafeWaitHandle `safe` tells that it has ended; 0: none.
  Address joined_by(Address safe);
  bool is_own(const Thread& thread, Address object);
  bool find_work_of_others(Thread& thread);
  void find_callback(Thread& thread);
  void settle_mode(Thread& thread);
  void find_finalizers(Thread& thread);
  void add_handles(Thread& thread, const std::vector<Address>& safe_handles);
  void add(Thread& thread, Address object, LockKind kind);
  std::vector<Address> live_objects(const Thread& thread,
                                    std::optional<std::size_t> of_frame = std::nullopt) const;
  std::vector<Address> words(const Thread& thread);
  LockKind kind_of(Address object, LockKind otherwise);
  std::string type_name(Address object);
  bool derives(Address object, std::string_view name);
  // The same of a word of a stack. Most are no objects, and many stacks have the same.
  bool word_derives(Address word, std::string_view name);

  const Target* target_;
  InstanceReader reader_;
  MethodNames* names_;
  CoreLibrary* library_;
  LockIndex* index_;
  TasksOf tasks_of_;
  SyncBlocks blocks_;
  MonitorLocks monitors_;
  std::string problem_;
  std::string nameless_;
  std::string first_fault_;
  const ThreadList* threads_ = nullptr;
  std::optional<std::unordered_map<Address, Address>> join_handles_; // SafeWaitHandle, Thread
  // Semaphores by their async waiters, as far as these were looked at; 0: none is known.
  std::optional<std::unordered_map<Address, Address>> lines_;
  std::size_t line_left_ = max_line, tasks_left_ = max_listed_tasks, words_left_ = max_words,
              wrong_left_ = max_wrong_words;
  std::string reached_limit_;
  std::unordered_set<Address> no_types_;           // words that are no MethodTables
  std::unordered_map<Address, Address> canonical_; // MethodTables by words; 0: the word is none
};

} // namespace clr
