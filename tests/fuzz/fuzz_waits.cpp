// Who waits for whom in a damaged runtime: tasks, async methods, locks, threads that wait, the thread pool
// and timers, up to the answers of `clr async`, `clr locks`, `clr deadlocks`, `clr analyze` and `clr report`.
#include "core/memory/page_cache.h"
#include "core/report/async_json.h"
#include "core/report/deadlock_report.h"
#include "core/report/lock_json.h"
#include "core/report/page/page.h"
#include "core/report/pool_json.h"
#include "core/report/trouble_report.h"
#include "core/runtime/native_names.h"
#include "core/waits/async_awaited.h"
#include "core/waits/async_chains.h"
#include "tests/fuzz/recorded_core.h"
#include "tests/objects/framework_types.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <map>
#include <set>

using namespace clr;
using namespace clr::fuzz;

namespace {

// What must hold of every graph of async methods.
void check(AsyncGraph& graph, const AsyncChains& chains) {
  for (const AsyncBox& box : graph.boxes()) {
    require(box.shape != nullptr, "a method has a shape");
    require(graph.box(box.object) != nullptr, "a method is found by its object");
  }
  require(chains.chains.size() <= max_chains, "chains are bounded");
  for (const AsyncChain& chain : chains.chains) {
    require(!chain.boxes.empty() && chain.boxes.size() <= max_chain, "a chain has its length");
    std::set<const AsyncBox*> seen(chain.boxes.begin(), chain.boxes.end());
    require(seen.size() == chain.boxes.size(), "a method stands once in a chain");
  }
}

// Objects of each kind that leads from one async method to another, and of each lock, made by hand.
class BuiltWaits final : public Scene {
public:
  explicit BuiltWaits(const Platform& platform) : built_(platform), types_(built_) {
    tasks();
    combined();
    suspended();
    locks();
    timers_ = timers();
    std::ranges::sort(tasks_, {}, &FoundObject::address);
    set_up(built_.memory, built_.runtime.target.contract_descriptor(), platform);
  }

  unsigned parts() const override { return 3; }
  void ask(const Target& target, unsigned part) override {
    ExecutionManager code(target);
    MethodNames names(target, code, nullptr);
    ObjectReader objects(target, names);
    if (part == 0) return follow(objects, names);
    if (part == 1) return read_locks(objects, names);
    attempt([&] { read_timers(objects, timers_); });
    attempt([&] {
      const ThreadPoolState pool =
          read_thread_pool(objects, {.pool = pool_, .queue = queue_, .local = local_});
      require(pool.items.size() <= max_pool_items, "items of the pool are bounded");
    });
  }

private:
  static constexpr const char* box_type = "AsyncTaskMethodBuilder`1+AsyncStateMachineBox`1";
  static constexpr std::uint32_t done = 0x100'0000, faulted = 0x20'0000;

  Address task(const char* type, const test::FrameworkTypes::Values& values) {
    tasks_.push_back({types_.make(type, values), types_[type]});
    return tasks_.back().address;
  }
  Address box(std::uint32_t state = 0) {
    return task(box_type, {{"StateMachine", types_.make("Machine", {{"<>1__state", state}})}});
  }
  void then(Address task, Address continuation) {
    built_.memory.at(types_.place("Task", task, "m_continuationObject")).pointer(continuation);
  }
  Address list(std::initializer_list<Address> items) {
    return types_.make("List`1", {{"_items", types_.objects(items)}, {"_size", items.size()}});
  }

  void tasks() {
    const Address source = task("Task", {}), first = box(), second = box(1), third = box(0xffff'ffff);
    then(source, first);
    then(first, list({second, third, 0}));
    then(second, types_.make("Task+SetOnInvokeMres", {}));
    then(third, first);
    const Address exception = built_.instance(built_.exception_type, 64);
    const Address failures = list({types_.make("Dispatch", {{"_exception", exception}})});
    task("Task", {{"m_stateFlags", faulted},
                  {"m_contingentProperties",
                   types_.make("Properties", {{"m_exceptionsHolder",
                                               types_.make("Holder", {{"m_faultExceptions", failures}})}})}});
    task(box_type, {{"m_stateFlags", done}});
  }

  void combined() {
    const Address all = task("Task+WhenAllPromise", {{"_remainingToComplete", 2}});
    then(all, box());
    then(task("Task", {}), all);
    const Address timer = types_.make("TimerQueueTimer", {{"_dueTime", 500}, {"_startTicks", 7}});
    then(task("Task+DelayPromise", {{"_timer", timer}}), all);
    const Address node = task("SemaphoreSlim+TaskNode", {});
    then(task("Task+CancellationPromise`1", {{"_task", node}}), box());
    const Address semaphore = types_.make("SemaphoreSlim", {{"m_asyncHead", node}, {"m_waitCount", 1}});
    semaphores_.push_back({semaphore, types_["SemaphoreSlim"]});
  }

  void suspended() {
    const Address last = types_.make("Continuation", {});
    const Address held = types_.objects({semaphores_.front().address, last});
    const Address next = types_.make("Continuation", {{"Next", last}, {"Resume", 0x20}, {"State", 1}});
    const Address head = types_.make("Continuation", {{"Next", next}, {"Resume", 0x10}, {"GCData", held}});
    const Address thunk = task("AsyncHelpers+ThunkTask", {{"m_stateObject", head}});
    then(task("Task", {}), thunk);
    then(thunk, box());
  }

  void locks() {
    lock(LockKind::lock, "Lock", {{"_state", 1 | 1 << 7}, {"_owningThreadId", 7}, {"_recursionCount", 1}});
    lock(LockKind::rwlock, "ReaderWriterLockSlim", {{"_writeLockOwnerId", 5}, {"_lockID", 3}});
    lock(LockKind::semaphore, "SemaphoreSlim", {{"m_waitCount", 2}});
    lock(LockKind::barrier, "Barrier", {{"_currentTotalCount", 1 << 16 | 3}});
    const Address one = types_.make("ReaderWriterCount", {{"lockID", 1}, {"readercount", 1}});
    readers_ = types_.make("ReaderWriterCount", {{"lockID", 2}, {"next", one}});
  }
  void lock(LockKind kind, const char* type, const test::FrameworkTypes::Values& values) {
    locks_.emplace_back(kind, types_.make(type, values));
  }

  Address timers() {
    const auto timer = [&](std::uint64_t set_at, std::uint32_t period, Address next) {
      return types_.make("TimerQueueTimer", {{"_startTicks", set_at},
                                             {"_dueTime", 100},
                                             {"_period", period},
                                             {"_next", next},
                                             {"_state", semaphores_.front().address}});
    };
    const Address first = timer(2'000, 500, timer(1'500, 0xffff'ffff, 0));
    const Address queue =
        types_.make("TimerQueue", {{"_shortTimers", first}, {"_longTimers", timer(1, 0, 0)}});
    pool_ = types_.make("PortableThreadPool", {{"_minThreads", 3}});
    types_.set("Counts", types_.place("PortableThreadPool", pool_, "_separated"), "_data", 0x0006'0005'0004);
    queue_ = queue;
    local_ =
        types_.objects({types_.make("WorkStealingQueue", {{"m_array", types_.objects({queue, 0, 0, first})},
                                                          {"m_mask", 3},
                                                          {"m_headIndex", 3},
                                                          {"m_tailIndex", 5}})});
    return types_.objects({0, queue});
  }

  void follow(ObjectReader& objects, MethodNames& names) {
    TypeLineages lineages(names.types());
    HeapPassResult found;
    found.found = {tasks_, {}, semaphores_, {}};
    AsyncGraph graph(objects, lineages, found, 0);
    const AsyncChains chains = async_chains(graph);
    check(graph, chains);
    AwaitedReader awaited(graph);
    for (const AsyncChain& chain : chains.chains) awaited.of(*chain.boxes.front());
    for (const Address task : graph.faulted()) attempt([&] { graph.kinds().failure(task); });
    find_on_stacks(objects.finder().target(), {}, {});
  }

  void read_locks(ObjectReader& objects, MethodNames& names) {
    InstanceReader reader(objects);
    for (const auto& [kind, object] : locks_)
      attempt([&] { read_lock_state(reader, reader.of_object(object), object, kind); });
    attempt([&] {
      std::size_t left = max_all_reader_counts;
      require(read_reader_counts(reader, readers_, left).size() <= max_reader_counts, "readers are bounded");
    });
    read_lock_table(objects, names, nullptr, {}, {}, {});
  }

  test::ObjectRuntime built_;
  test::FrameworkTypes types_;
  std::vector<FoundObject> tasks_, semaphores_;
  std::vector<std::pair<LockKind, Address>> locks_;
  Address readers_ = 0, timers_ = 0, pool_ = 0, queue_ = 0, local_ = 0;
};

// What a user asks of a process whose threads and async methods wait for everything that there is.
class RecordedWaits final : public RecordedScene {
public:
  explicit RecordedWaits(const std::string& name)
      : RecordedScene(name), names_(*recorded_.core),
        groups_(static_cast<unsigned>((recorded_.core->threads().size() + threads_of_group - 1) /
                                      threads_of_group)) {}

  // The async methods; the heap's locks without stacks; the pool, timers and faulted tasks; the page; the
  // verdict over all threads; the threads in groups, each with and without the heap.
  unsigned parts() const override { return parts_before_threads + 2 * groups_; }
  void ask(const Target& target, unsigned part) override {
    PageCache pages(target.memory());
    Runtime runtime(pages, recorded_.modules, recorded_.platform, nullptr);
    if (runtime.absence() != nullptr) return;
    recorded_.give_lines(runtime);
    const unsigned first = part < parts_before_threads ? 0 : (part - parts_before_threads) % groups_;
    const std::size_t count = part == 4 ? all_threads : part < parts_before_threads ? 0 : threads_of_group;
    Asked asked(*this, runtime, pages, first * threads_of_group, count);
    if (part == 0) return asked.async_methods();
    if (part == 1) return asked.locks_of_heap();
    if (part == 2) return asked.pool_and_timers();
    if (part == 3) return asked.page();
    if (part == 4) return asked.verdict();
    asked.threads(part - parts_before_threads < groups_);
  }

  // Code, debug info and methods of what the runtime suspends and of what threads stand in, all of a kind at
  // once: one alone leaves another way to the same answer.
  std::vector<Damage> damages() override {
    Runtime runtime(*recorded_.core, recorded_.modules, recorded_.platform, nullptr);
    HeapReporter heap(runtime);
    WaitObjects waits(runtime, heap);
    AsyncReporter async(waits);
    const Target& target = *runtime.target();
    std::map<Address, std::uint64_t> bodies;
    std::set<Address> classes;
    for (const AsyncBox& box : async.graph().boxes())
      attempt([&] {
        if (box.resume == nullptr) {
          classes.insert(runtime.names()->types().type(box.shape->method_table).table.ee_class);
        } else if (box.resume->body != 0) {
          const CodeLookup found = runtime.code()->find(box.resume->body);
          bodies[box.resume->body] = runtime.code()->regions(std::get<CodeBlock>(found)).hot_size;
        }
      });
    constexpr std::uint64_t no_instructions = 0x0606'0606'0606'0606;
    const unsigned word = target.pointer_size();
    std::vector<Edit> headers, debug_infos, chunks, descs;
    for (const auto& [body, size] : bodies) {
      headers.push_back({.width = 0, .at = body - word, .value = word});
      attempt([&] {
        const Address header = target.read_pointer(body - word);
        debug_infos.push_back(
            {.at = target.field_address(header, "RealCodeHeader", "DebugInfo"), .value = 8});
      });
    }
    for (const Address type : classes)
      chunks.push_back({.at = target.field_address(type, "EEClass", "MethodDescChunk")});
    std::set<Address> methods;
    for (const Address ip : recorded_.frames)
      attempt([&] {
        const CodeLookup found = runtime.code()->find(ip);
        if (const auto* const block = std::get_if<CodeBlock>(&found)) methods.insert(block->method_desc);
      });
    for (const Address method : methods) descs.push_back({.width = 0, .at = method, .value = word});

    std::vector<Damage> all;
    const Address object = target.read_pointer(target.global("ObjectMethodTable"));
    all.push_back({"object", 1, {{.at = target.field_address(object, "MethodTable", "Module")}}});
    const auto add = [&](const std::string& name, unsigned part, const std::vector<Edit>& edits) {
      for (std::size_t at = 0; at < edits.size(); at += Stage::max_edits)
        all.push_back(
            {fmt::format("{}{}", name, at),
             part,
             {edits.begin() + static_cast<std::ptrdiff_t>(at),
              edits.begin() + static_cast<std::ptrdiff_t>(std::min(edits.size(), at + Stage::max_edits))}});
    };
    for (const unsigned quarter : {0u, 1u, 2u, 3u}) {
      std::vector<Edit> code;
      for (const auto& [body, size] : bodies)
        code.push_back({.at = body + size * quarter / 4, .value = no_instructions});
      add(fmt::format("code{}-", quarter), 0, code);
    }
    for (unsigned turn = 0; turn < turns; ++turn) {
      std::vector<Edit> calls;
      for (const auto& [body, size] : bodies)
        if (const auto edit = call_in_map(runtime, body, turn))
          calls.insert(calls.end(), {*edit, {.at = body, .value = no_instructions}});
      add(fmt::format("call{}-", turn), 0, calls);
    }
    add("header", 0, headers);
    add("debug", 0, debug_infos);
    add("chunk", 0, chunks);
    add("method", 4, descs);
    return all;
  }

private:
  // A sound memory but for one bit.
  struct OneBit final : MemoryReader {
    explicit OneBit(MemoryReader& of) : sound(of) {}
    std::size_t read_some(Address address, std::span<std::byte> out) override {
      const std::size_t got = sound.read_some(address, out);
      if (at - address < got) out[at - address] ^= bit;
      return got;
    }
    MemoryReader& sound;
    Address at = 0;
    std::byte bit{};
  };

  // A changed byte of the body's IL map, after which it has calls: those maps are made for few readers. Each
  // `turn` has another one.
  std::optional<Edit> call_in_map(Runtime& runtime, Address body, unsigned turn) {
    std::optional<Edit> found;
    attempt([&] {
      OneBit memory(*recorded_.core);
      const Target target(memory, runtime.target()->descriptor(), recorded_.platform);
      ExecutionManager code(target);
      const CodeLookup block = code.find(body);
      const Address header = target.read_pointer(body - target.pointer_size());
      const Address map = target.read_pointer(target.field_address(header, "RealCodeHeader", "DebugInfo"));
      constexpr unsigned bytes = 48, bits = 8;
      for (unsigned i = turn; i < bytes * bits; i += turns) {
        memory.at = 0;
        std::array<std::byte, 1> byte{};
        memory.read(map + i / bits, byte);
        const auto was = std::to_integer<std::uint8_t>(byte[0]);
        memory.at = map + i / bits;
        memory.bit = static_cast<std::byte>(1u << i % bits);
        try {
          DebugInfoReader reader(code);
          for (const IlBoundary& boundary : reader.il_map(std::get<CodeBlock>(block))->boundaries())
            if (boundary.il >= 0 && (boundary.source & IlBoundary::call_instruction) != 0)
              found = {.width = 1, .at = memory.at, .value = was ^ (1u << i % bits)};
        } catch (const Error&) {
          continue; // no map at all
        }
        if (found) return;
      }
    });
    return found;
  }

  static constexpr unsigned turns = 5; // of call_in_map
  static constexpr std::size_t threads_of_group = 16, all_threads = 1000, most_rows = 40;
  static constexpr unsigned parts_before_threads = 5;

  // The readers over one damaged runtime. `count` threads from the one at `first` on are looked at.
  struct Asked {
    Asked(RecordedWaits& scene, Runtime& of, MemoryReader& memory, std::size_t first, std::size_t count)
        : runtime(of), program_name(scene.recorded_.program_name()),
          stacks(of, memory, [&scene](FrameRow& row, Address) { scene.names_.name(row); }),
          locks(
              of, [this]() -> WaitObjects& { return waits(); }, stacks, [this] { return starts; }) {
      const auto& threads = scene.recorded_.core->threads();
      for (std::size_t i = first; i < threads.size() && i < first + count; ++i)
        starts.push_back({.os_id = threads[i].os_id,
                          .index = static_cast<unsigned>(i + 1),
                          .name = "a thread",
                          .registers = scene.recorded_.registers_of(threads[i])});
    }

    HeapReporter& heap() {
      if (!heap_) heap_.emplace(runtime);
      return *heap_;
    }
    WaitObjects& waits() {
      if (!objects_) objects_.emplace(runtime, heap());
      return *objects_;
    }
    AsyncReporter& async() {
      if (!async_) {
        async_.emplace(waits());
        async_->set_stacks(stacks);
        std::vector<ThreadTop> tops;
        for (const LockReporter::ThreadStart& start : starts) tops.push_back({start.os_id, start.registers});
        async_->set_threads(std::move(tops));
      }
      return *async_;
    }

    static void tell(const auto& value) {
      std::string text;
      JsonWriter json(text);
      write_json(json, value);
    }

    void async_methods() {
      attempt([&] {
        // A walk that the user interrupts, and the chains of what it came to.
        AsyncReporter hasty(waits());
        hasty.stacks({}, {.progress = [](std::uint64_t, std::uint64_t) { return false; }});
        hasty.left_out();
        const AsyncReport report = async().stacks({});
        for (std::size_t i = 0; i < report.stacks.size() && i < most_rows; ++i) {
          tell(report.stacks[i]);
          require(report.stacks[i].count() != 0, "a stack stands for a chain");
        }
        AsyncGraph& graph = async().graph();
        check(graph, async_chains(graph));
        async().stacks({.tops = true, .glob = "*.Sim*"});
        for (const FaultedTask& task : async().faulted({})) tell(task);
        attempt([&] { waits().locks({.progress = [](std::uint64_t, std::uint64_t) { return false; }}); });
        waits().locks();
      });
    }

    void locks_of_heap() {
      attempt([&] {
        const LockTable& table = locks.table();
        require(table.with_heap, "without the heap an answer of the heap's is an error");
        tell_locks(table);
      });
    }

    void tell_locks(const LockTable& table) {
      require(table.locks.size() <= max_lock_rows, "locks are bounded");
      require(table.waits.size() == table.stacks.size(), "each stack has a wait");
      std::size_t left = most_rows;
      for (const LockRow& row : table.locks) {
        if (left-- == 0) break;
        dump(to_json(row, locks));
        for (const std::size_t waiter : row.waiters)
          require(waiter < table.waits.size(), "who waits is a thread");
      }
      for (const ThreadWait& wait : table.waits) {
        require(wait.objects.size() <= BlockedThreads::max_objects, "what a thread waits for is bounded");
        dump(waits_for_json(wait, locks));
        locks.place_text(wait);
      }
    }

    void threads(bool with_heap) {
      if (!with_heap) {
        tell_locks(locks.table_by_stacks());
        return;
      }
      attempt([&] { tell_locks(locks.table()); });
      attempt([&] {
        for (const Deadlock& deadlock : locks.deadlocks()) {
          require(!deadlock.members.empty(), "somebody is in a deadlock");
          dump(to_json(deadlock, locks));
          deadlock_lines(deadlock, locks);
        }
        wait_graph_dot(locks);
      });
      trouble("");
      attempt([&] {
        for (const LockReporter::ThreadStart& start : starts) {
          std::vector<FrameRow> rows;
          stacks.walk(start.registers, start.os_id, {.max_frames = 20, .lines = false},
                      [&](const FrameRow& row) {
                        rows.push_back(row);
                        return true;
                      });
          std::string text;
          JsonWriter json(text);
          json.begin_object();
          write_members(json, async().beside({start.os_id, start.registers}, rows));
          json.end_object();
        }
      });
    }

    std::optional<StopMark> trouble(const std::string& crash) {
      std::optional<StopMark> mark;
      attempt([&] {
        TroubleSources sources{.locks = locks,
                               .stacks = stacks,
                               .heap = [this]() -> HeapReporter& { return heap(); },
                               .async = [this]() -> AsyncReporter& { return async(); },
                               .program_name = program_name};
        TroubleReport report = find_trouble(sources, crash);
        require(!report.verdicts.empty(), "there is a verdict");
        dump(to_json(report));
        for (const AwaitGroup& group : report.waiting) text_of(group);
        mark = std::move(report.mark);
      });
      return mark;
    }

    // At this stop, and at one more at which the collector has moved the heap and some have gone on.
    void verdict() {
      attempt([&] {
        locks.table_by_stacks();
        locks.stacks_tell_all();
      });
      trouble("a signal");
      const std::optional<StopMark> first = trouble("");
      if (!first) return;
      StopMark second = *first;
      if (!second.ranges.empty()) second.ranges.pop_back();
      if (!second.threads.empty()) second.threads.front().place ^= 1;
      if (!second.chains.empty()) second.chains.front().place ^= 1;
      for (const StopMark& later : {*first, second}) {
        const StopChange change = compare(*first, later);
        require(change.chains.all() == first->chains.size(), "each chain stood or went");
        require(!to_string(change.finding).empty(), "a finding has a name");
      }
    }

    void pool_and_timers() {
      attempt([&] {
        if (const auto pool = report_pool(runtime)) dump(to_json(*pool));
      });
      attempt([&] {
        for (const TimerRow& row : report_timers(runtime).rows) dump(to_json(row));
      });
      attempt([&] {
        std::vector<std::string> missing;
        heap_limit(*runtime.objects(), program_name, missing);
      });
    }

    void page() {
      HeapHolders holders(runtime, heap(), stacks, [] { return std::vector<HeapHolders::ThreadStart>(); });
      HeapRetainers retainers(heap(), holders);
      PageSource source;
      source.runtime = &runtime;
      source.stacks = &stacks;
      source.locks = [this]() -> LockReporter& { return locks; };
      source.waits = [this]() -> WaitObjects& { return waits(); };
      source.heap = [this]() -> HeapReporter& { return heap(); };
      source.holders = [&]() -> HeapHolders& { return holders; };
      source.retainers = [&]() -> HeapRetainers& { return retainers; };
      source.memory = [] { return MemoryReport(); };
      source.stop = [] { return false; };
      source.walk = [](const PageThread&, const StackReporter::Options&, const auto&) {
        return StackReporter::End{.end = "bottom", .notes = {}};
      };
      const MadePage made = make_page(source);
      require(made.html.ends_with("</html>\n"), "a page is whole");
      for (const char c : made.html)
        require(static_cast<unsigned char>(c) >= ' ' || c == '\n', "a page has no control character");
    }

    Runtime& runtime;
    Address program_name;
    StackReporter stacks;
    std::vector<LockReporter::ThreadStart> starts;
    std::optional<HeapReporter> heap_;
    std::optional<WaitObjects> objects_;
    std::optional<AsyncReporter> async_;
    LockReporter locks;
  };

  RecordedNames names_;
  unsigned groups_;
};

} // namespace

std::vector<std::unique_ptr<Scene>> clr::fuzz::make_scenes() {
  std::vector<std::unique_ptr<Scene>> all;
  all.push_back(std::make_unique<BuiltWaits>(Platform{}));
  for (const char* const core : {"waiting-x64", "waiting11-x64", "stuck-x64"})
    all.push_back(std::make_unique<RecordedWaits>(core));
  return all;
}
