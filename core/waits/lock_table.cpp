#include "core/waits/lock_table.h"

#include "core/target/contracts.h"
#include "core/waits/blocked_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

namespace clr {
namespace {

class TableBuilder {
public:
  TableBuilder(ObjectReader& objects, MethodNames& names, LockIndex* index, BlockedThreads::TasksOf tasks_of,
               const ThreadList& threads)
      : target_(objects.finder().target()), reader_(objects), library_(objects), index_(index),
        threads_(threads), blocked_(objects, names, library_, index, std::move(tasks_of)), blocks_(target_) {
    for (const RuntimeThread& thread : threads_.threads) {
      if (thread.os_id) by_os_id_.try_emplace(*thread.os_id, &thread);
      if (thread.managed_id) by_managed_id_.try_emplace(*thread.managed_id, &thread);
      if (thread.os_id.value_or(0) != 0) by_address_.insert_or_assign(thread.address, &thread);
    }
  }

  LockTable build(std::vector<ThreadStack> stacks, bool held) {
    table_.stacks = std::move(stacks);
    table_.with_heap = index_ != nullptr;
    blocked_.set_threads(threads_);
    for (const ThreadStack& stack : table_.stacks) table_.waits.push_back(blocked_.of(stack));
    blocked_.find_classes(table_.stacks, table_.waits);
    note_callbacks();
    if (index_ != nullptr) {
      add_headed();
      add_objects();
    } else if (held) {
      add_all_blocks();
    }
    add_waited();
    add_readers();
    if (index_ != nullptr)
      for (const std::string& problem : index_->problems()) note(fmt::format("a lock: {}", problem));
    if (!blocked_.problem().empty())
      note(fmt::format("what threads wait for is told by their frames alone: {}", blocked_.problem()));
    if (!blocked_.reached_limit().empty())
      note(fmt::format("what some threads wait for may be missing: {}", blocked_.reached_limit()));
    const auto unknown = std::ranges::count_if(table_.waits, [](const ThreadWait& wait) {
      return wait.what == ThreadWait::What::objects && wait.objects.empty();
    });
    if (unknown != 0 && !blocked_.first_fault().empty())
      note(fmt::format("what {} threads wait for could not be found; the first reason: {}", unknown,
                       blocked_.first_fault()));
    if (!blocked_.nameless().empty())
      note(fmt::format(
          "frames without a name make what their threads wait for uncertain; the first because: {}",
          blocked_.nameless()));
    if (!threads_.threads.empty() && by_os_id_.empty())
      attempt("", [&] {
        target_.offset("Thread", "OSId"); // throws where it is not published
      });
    // From .NET 11 on it tells which thread another one waits for.
    if (target_.descriptor().version >= descriptor_format_names &&
        std::ranges::all_of(threads_.threads,
                            [](const RuntimeThread& thread) { return thread.managed_object == 0; }))
      attempt("", [&] { target_.offset("Thread", "ExposedObject"); });
    if (const std::string& problem = blocked_.monitors().problem(); !problem.empty())
      note(fmt::format("the table of sync blocks: {}", problem));
    std::ranges::stable_sort(table_.locks, [](const LockRow& a, const LockRow& b) {
      return std::tuple(b.waiters.size(), a.state.object) < std::tuple(a.waiters.size(), b.state.object);
    });
    for (std::size_t i = 0; i < table_.locks.size(); ++i)
      table_.numbers[{table_.locks[i].state.object, table_.locks[i].state.kind}] = i;
    return std::move(table_);
  }

private:
  void note(std::string text) {
    if (table_.problems.size() < max_lock_problems &&
        std::ranges::find(table_.problems, text) == table_.problems.end())
      table_.problems.push_back(std::move(text));
  }

  // `of` stands before what is said of a fault; nothing where that says by itself what it is of.
  template<typename Act>
  void attempt(std::string_view of, const Act& act) {
    try {
      act();
    } catch (const Error& error) {
      note(fmt::format("{}{}", of, error.what()));
    }
  }

  const RuntimeThread* thread_of(const LockState& state) const {
    const auto find = [](const auto& threads, auto id) {
      const auto found = threads.find(id);
      return found == threads.end() ? nullptr : found->second;
    };
    return state.owner_os_id != 0 ? find(by_os_id_, state.owner_os_id)
                                  : find(by_managed_id_, state.owner_managed_id);
  }

  LockHolder holder_of(const RuntimeThread& thread) const {
    LockHolder holder{.os_id = thread.os_id, .managed_id = thread.managed_id};
    if (holder.os_id == 0) holder.os_id.reset();
    return holder;
  }

  LockRow* add(LockState state) {
    const auto key = std::pair(state.object, state.kind);
    if (const auto known = table_.numbers.find(key); known != table_.numbers.end())
      return &table_.locks[known->second];
    if (table_.locks.size() >= max_lock_rows) return nullptr;
    LockRow row{.state = std::move(state), .owner = {}, .readers = {}, .waiters = {}, .fault = {}};
    if (row.state.held) {
      const RuntimeThread* const thread = thread_of(row.state);
      row.owner.emplace();
      if (thread != nullptr)
        row.owner = holder_of(*thread);
      else if (row.state.owner_managed_id != 0)
        row.owner->managed_id = row.state.owner_managed_id;
    }
    if (const auto ender = table_.enders.find(row.state.object); ender != table_.enders.end())
      row.ender = ender->second;
    table_.numbers.emplace(key, table_.locks.size());
    table_.locks.push_back(std::move(row));
    return &table_.locks.back();
  }

  LockState monitor_of(const MonitorState& block) {
    if (block.lock != 0) {
      const Instance lock = reader_.of_object(block.lock);
      if (framework_type_name(*lock.layout.name) != "System.Threading.Lock") {
        if (lock.layout.problem.empty())
          throw_corrupt(block.lock, "the lock of an object is an object of another type");
        throw Error(ErrorKind::unsupported_contract,
                    fmt::format("the type of an object's lock is not known: {}", lock.layout.problem));
      }
      LockState state = read_lock_state(reader_, lock, block.object, LockKind::lock);
      state.kind = LockKind::monitor;
      return state;
    }
    return {.object = block.object,
            .kind = LockKind::monitor,
            .held = block.held,
            .owner_managed_id = block.owner_managed_id,
            .owner_os_id = block.owner_os_id,
            .entries = block.entries,
            .waiters = block.waiters,
            .text = {}};
  }

  // The lock of any object, by the word before it.
  LockState monitor_at(Address object) {
    const LockWord word = read_lock_word(target_, object);
    if (word.form == LockWord::Form::sync_block) {
      LockState state = monitor_of(blocks_.at(word.index));
      if (state.object != object) throw_corrupt(object, "a sync block of another object");
      return state;
    }
    LockState state{.object = object, .kind = LockKind::monitor, .text = {}};
    if (word.form != LockWord::Form::thin) return state;
    state.thin = state.held = true;
    state.owner_managed_id = word.owner_managed_id;
    state.entries = word.entries;
    return state;
  }

  void add_headed() {
    for (const FoundObject& found : index_->headed())
      attempt("the lock of an object: ", [&] {
        LockState state = monitor_at(found.address);
        if (state.held || state.waiters.value_or(0) != 0) add(std::move(state));
      });
  }

  void add_all_blocks() {
    std::string problem;
    for (const MonitorState& block : blocks_.all(problem))
      attempt("the lock of an object: ", [&] {
        LockState state = monitor_of(block);
        if (state.held || state.waiters.value_or(0) != 0) add(std::move(state));
      });
    if (!problem.empty()) note(fmt::format("the table of sync blocks: {}", problem));
  }

  Instance instance_of(const LockIndex::Entry& entry) {
    return {reader_.objects().layouts().of(entry.method_table),
            target_.platform().wrap(entry.object + target_.pointer_size())};
  }

  void add_objects() {
    for (const LockIndex::Entry& entry : index_->entries()) {
      if (entry.kind != LockKind::lock && entry.kind != LockKind::rwlock && entry.kind != LockKind::semaphore)
        continue;
      // That of an object is told as the object's.
      if (entry.kind == LockKind::lock && blocked_.monitors().object_of(entry.object) != 0) continue;
      attempt("a lock: ", [&] {
        LockState state = read_lock_state(reader_, instance_of(entry), entry.object, entry.kind);
        if (state.held || state.reader_count != 0 || state.waiters.value_or(0) != 0) add(std::move(state));
      });
    }
  }

  void add_waited() {
    for (std::size_t i = 0; i < table_.waits.size(); ++i) {
      const ThreadWait& wait = table_.waits[i];
      if (wait.what != ThreadWait::What::objects) continue;
      for (const WaitedObject& waited : wait.objects) {
        std::string fault;
        LockState state{.object = waited.object, .kind = waited.kind, .text = {}};
        try {
          state = state_of(waited);
        } catch (const Error& error) {
          state.owner_known = false;
          fault = error.what();
        }
        if (LockRow* row = add(std::move(state))) {
          row->waiters.push_back(i);
          if (!fault.empty()) row->fault = fault;
        }
      }
    }
  }

  LockState state_of(const WaitedObject& waited) {
    switch (waited.kind) {
    case LockKind::monitor:
      return monitor_at(waited.object);
    case LockKind::class_init:
      return class_state(waited.object);
    case LockKind::thread:
    case LockKind::finalizers:
      return thread_state(waited.object, waited.kind);
    case LockKind::callback:
      return callback_state(waited.object);
    case LockKind::condition:
    case LockKind::task:
    case LockKind::wait_handle:
      return {.object = waited.object, .kind = waited.kind, .text = {}};
    default:
      return read_lock_state(reader_, reader_.of_object(waited.object), waited.object, waited.kind);
    }
  }

  // Whoever joins a thread waits for that thread: it owns its own end.
  LockState thread_state(Address object, LockKind kind) {
    LockState state{.object = object, .kind = kind, .text = {}};
    const Address thread = reader_.reference(reader_.of_object(object), "_DONT_USE_InternalThread");
    if (const auto known = by_address_.find(thread); known != by_address_.end()) {
      state.held = true;
      state.owner_os_id = *known->second->os_id;
      state.entries = 1;
    }
    return state;
  }

  // The thread that runs the callbacks of a CancellationTokenSource.
  LockState callback_state(Address registrations) {
    LockState state{.object = registrations, .kind = LockKind::callback, .text = {}};
    const auto thread = static_cast<std::uint32_t>(
        reader_.integer(reader_.of_object(registrations), "ThreadIDExecutingCallbacks"));
    constexpr std::uint32_t nobody = ~std::uint32_t{0};
    if (thread == 0 || thread == nobody) return state;
    state.held = true;
    state.owner_managed_id = thread;
    state.entries = 1;
    return state;
  }

  // A timer that is disposed while its callback runs says so when that has returned.
  void note_callbacks() {
    for (std::size_t i = 0; i < table_.stacks.size() && i < table_.waits.size(); ++i) {
      const ThreadWait& wait = table_.waits[i];
      if (wait.what != ThreadWait::What::objects) continue;
      for (const Address told : blocked_.told_by_timers(table_.stacks[i]))
        table_.enders.emplace(told, wait.os_id);
    }
  }

  // The owner of a class that is being initialised is the thread that runs its constructor.
  LockState class_state(Address table) {
    LockState state{.object = table, .kind = LockKind::class_init, .text = {}};
    if (!initialising_noted_) // all stacks are named for it, so once for all threads that wait
      for (const ThreadStack& stack : table_.stacks)
        for (const Address running : blocked_.constructors(stack)) {
          const auto [known, added] = initialising_.try_emplace(running, stack.os_id);
          // Two threads that run the shared constructor of a generic class run it for two instances of it.
          if (!added && known->second != stack.os_id) known->second = 0;
        }
    initialising_noted_ = true;
    if (const auto owner = initialising_.find(table); owner != initialising_.end() && owner->second != 0) {
      state.held = true;
      state.owner_os_id = owner->second;
      state.entries = 1;
    }
    state.owner_known = state.held;
    return state;
  }

  void add_readers() {
    // ReaderWriterLock is in a library of its own.
    const bool old =
        std::ranges::any_of(table_.locks, [](const LockRow& row) { return row.state.old_rwlock; });
    add_readers(
        false, [&] { return library_.find("System.Threading.ReaderWriterLockSlim"); }, "t_rwc");
    if (old)
      add_readers(
          true,
          [&]() -> Address {
            for (const LockRow& row : table_.locks)
              if (row.state.old_rwlock)
                return library_.find_in(reader_.of_object(row.state.object).layout.module,
                                        "System.Threading.ReaderWriterLock+ThreadLocalLockEntry");
            return 0;
          },
          "t_lockEntryHead");
  }

  template<typename Find>
  void add_readers(bool old, const Find& find, std::string_view list) {
    std::map<std::uint64_t, LockRow*> rows; // by the lock's number
    for (LockRow& row : table_.locks)
      if (row.state.kind == LockKind::rwlock && row.state.lock_id != 0 && row.state.old_rwlock == old)
        rows[row.state.lock_id] = &row;
    if (rows.empty()) return;
    Address table = 0;
    attempt("readers of locks: ", [&] { table = find(); });
    for (const RuntimeThread& thread : threads_.threads)
      attempt("readers of locks: ", [&] {
        const auto field = library_.thread_static(table, list, thread.address);
        if (!field) return;
        std::unordered_set<std::uint64_t> told; // numbers of locks
        for (const ReaderCount& count :
             read_reader_counts(reader_, target_.read_pointer(*field), readers_left_)) {
          const auto row = rows.find(count.lock_id);
          if (row == rows.end()) continue;
          // A thread has one entry for each lock; in a damaged list it counts once, too.
          if (count.readers != 0 && told.insert(count.lock_id).second)
            row->second->readers.push_back(holder_of(thread));
          LockState& state = row->second->state;
          if (!old && state.held && thread.managed_id == state.owner_managed_id)
            state.entries = static_cast<std::uint32_t>(
                std::max<std::uint64_t>({1, count.writers, state.upgradeable ? count.upgraders : 0}));
        }
      });
  }

  const Target& target_;
  InstanceReader reader_;
  CoreLibrary library_;
  LockIndex* index_;
  const ThreadList& threads_;
  BlockedThreads blocked_;
  SyncBlocks blocks_;
  LockTable table_;
  std::unordered_map<std::uint64_t, const RuntimeThread*> by_os_id_, by_managed_id_; // the first of each
  std::unordered_map<Address, const RuntimeThread*> by_address_; // those with a number of the system's
  std::size_t readers_left_ = max_all_reader_counts;
  bool initialising_noted_ = false;
  std::unordered_map<Address, std::uint64_t>
      initialising_; // threads by the classes whose constructors they run
};

} // namespace

const LockRow* LockTable::find(const WaitedObject& object) const {
  const auto found = numbers.find({object.object, object.kind});
  return found == numbers.end() ? nullptr : &locks[found->second];
}

LockTable read_lock_table(ObjectReader& objects, MethodNames& names, LockIndex* index,
                          BlockedThreads::TasksOf tasks_of, const ThreadList& threads,
                          std::vector<ThreadStack> stacks, bool held) {
  return TableBuilder(objects, names, index, std::move(tasks_of), threads).build(std::move(stacks), held);
}

} // namespace clr
