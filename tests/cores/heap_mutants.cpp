// Asks everything about the managed heap of damaged copies of a core: of each one some words of the
// collector, of types and of objects are others, memory is torn out, or one read fails.
//   heap_mutants CORE COUNT [FIRST]
// Prints what happened to how many. What a mutant may not do: crash, go on for a minute of processor time,
// take a gigabyte more than the sound core, or count more bytes than the heap has.
#include "core/heap/finalizer_queue.h"
#include "core/heap/heap_table.h"
#include "core/memory/failing_reader.h"
#include "core/memory/module_list.h"
#include "core/objects/object_condition.h"
#include "core/report/heap_gcdump.h"
#include "core/report/heap_json.h"
#include "core/report/heap_summary_file.h"
#include "core/report/holders_json.h"
#include "core/report/memory_use.h"
#include "core/report/page/page.h"
#include "core/runtime/heap_retainers.h"
#include "core/runtime/heap_strings.h"
#include "core/stack/walker.h"
#include "tests/cores/object_questions.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <sys/resource.h>

#include <fcntl.h>
#include <map>
#include <random>
#include <unistd.h>

using namespace clr;

namespace {

[[noreturn]] void refuse_run(const std::string& why) {
  throw std::runtime_error(why);
}

void demand(bool holds, const char* what) {
  if (!holds) refuse_run(what);
}

double processor_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

long peak_kilobytes() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return used.ru_maxrss;
}

// A core whose bytes can be changed and changed back.
class Changeable {
public:
  explicit Changeable(const char* path) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) refuse_run(fmt::format("{} cannot be opened", path));
    size_ = static_cast<std::size_t>(lseek(file, 0, SEEK_END));
    void* const at = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    close(file);
    if (at == MAP_FAILED) refuse_run(fmt::format("{} cannot be mapped", path));
    bytes_ = static_cast<std::byte*>(at);
  }
  ~Changeable() { munmap(bytes_, size_); }
  Changeable(const Changeable&) = delete;

  std::span<const std::byte> bytes() const { return {bytes_, size_}; }

  void write(const ElfCore& core, Address address, std::uint64_t value, std::size_t width = 8) {
    const CoreSegment* const segment = core.segment_at(address);
    if (segment == nullptr || address - segment->begin + width > segment->file_size) return;
    std::byte* const at = bytes_ + segment->file_offset + (address - segment->begin);
    std::uint64_t old = 0;
    std::memcpy(&old, at, width);
    undo_.push_back({at, old, width});
    std::memcpy(at, &value, width);
  }
  void restore() {
    for (; !undo_.empty(); undo_.pop_back())
      std::memcpy(undo_.back().at, &undo_.back().old, undo_.back().width);
  }

private:
  struct Old {
    std::byte* at;
    std::uint64_t old;
    std::size_t width;
  };
  std::byte* bytes_ = nullptr;
  std::size_t size_ = 0;
  std::vector<Old> undo_;
};

// Memory without some ranges.
class Torn final : public MemoryReader {
public:
  explicit Torn(MemoryReader& next) : next_(next) {}
  std::size_t read_some(Address address, std::span<std::byte> out) override {
    std::size_t size = out.size();
    for (const MemoryRange& hole : holes) {
      if (hole.contains(address)) return 0;
      if (hole.begin > address) size = std::min<std::uint64_t>(size, hole.begin - address);
    }
    return next_.read_some(address, out.first(size));
  }
  std::vector<MemoryRange> holes;

private:
  MemoryReader& next_;
};

// Where the structures are that a mutant changes.
struct Places {
  std::vector<Address> collector, segments, contexts, types, objects, arrays, handles, queues;
  std::vector<Address> tables;    // MethodTables
  std::vector<Address> of_types;  // two objects of each type
  std::vector<std::string> names; // of types
};

using Ends = std::map<std::string, unsigned>;

void run_step(Ends& ends, const std::string& what, const auto& act) {
  try {
    act();
    ++ends[what + ": answered"];
  } catch (const Error& error) {
    ++ends[fmt::format("{}: {}", what, to_string(error.kind()))];
  }
}

constexpr std::size_t objects_asked = 300, others_asked = 60, typed_asked = 2;

// What is damaged, some objects of all types, and places where no object is.
void ask_objects(Runtime& runtime, const Places& sound, const std::vector<Address>& damaged, unsigned number,
                 Ends& ends) {
  if (runtime.absence() != nullptr || runtime.objects() == nullptr) return;
  test::ObjectQuestions questions(runtime, sound.tables, number,
                                  [&](const char* what, const auto& act) { run_step(ends, what, act); });
  std::mt19937_64 random(number);
  const auto pick = [&](const std::vector<Address>& from) { return from[random() % from.size()]; };
  for (const Address at : damaged) questions.ask(at);
  for (std::size_t i = 0; i < objects_asked; ++i) {
    questions.ask(pick(sound.of_types));
    if (i % 3 == 0) questions.ask(pick(sound.objects));
  }
  for (std::size_t i = 0; i < others_asked; ++i) {
    questions.ask(pick(sound.objects) + 8 * (1 + random() % 8));
    questions.ask(pick(sound.types));
    questions.ask(pick(sound.segments));
    questions.ask(random() >> random() % 64);
  }
  for (std::size_t i = 0; i < typed_asked; ++i)
    questions.ask_names(pick(sound.objects), sound.names[random() % sound.names.size()]);
}

// The page of `clr report`. Returns how often it walked the heap.
unsigned make_page_of(Runtime& runtime, const ElfCore& core, StackReporter& stacks, HeapReporter& heap,
                      HeapHolders& holders, HeapRetainers& retainers) {
  WaitObjects waits(runtime, heap);
  const auto starts = [&] {
    std::vector<LockReporter::ThreadStart> found;
    for (const ThreadRegisters& thread : core.threads())
      found.push_back({.os_id = thread.os_id,
                       .index = static_cast<unsigned>(found.size() + 1),
                       .name = {},
                       .registers = context_of_thread(core.platform().cpu, thread)});
    return found;
  };
  LockReporter locks(
      runtime, [&]() -> WaitObjects& { return waits; }, stacks, starts);
  PageSource source;
  source.runtime = &runtime;
  source.stacks = &stacks;
  source.locks = [&]() -> LockReporter& { return locks; };
  source.waits = [&]() -> WaitObjects& { return waits; };
  source.heap = [&]() -> HeapReporter& { return heap; };
  source.holders = [&]() -> HeapHolders& { return holders; };
  source.retainers = [&]() -> HeapRetainers& { return retainers; };
  source.memory = [] { return MemoryReport(); };
  for (const LockReporter::ThreadStart& start : starts())
    source.threads.push_back(
        {.index = start.index, .os_id = start.os_id, .header = "thread", .registers = start.registers});
  source.walk = [&](const PageThread& thread, const StackReporter::Options& options, const auto& visit) {
    return stacks.walk(thread.registers, thread.os_id, options, visit);
  };
  unsigned walks = 0;
  std::uint64_t last = ~std::uint64_t{0};
  source.options.progress = [&](std::uint64_t done, std::uint64_t of) {
    if (of != heap.map().bytes()) return true; // of something else
    walks += done < last;                      // each walk begins anew
    last = done;
    return true;
  };
  make_page(source);
  return walks;
}

void ask(Runtime& runtime, const ElfCore& core, const Places& sound, Ends& ends) {
  const auto step = [&](const std::string& what, const auto& act) { run_step(ends, what, act); };
  if (runtime.absence() != nullptr) {
    ++ends["no runtime"];
    return;
  }
  std::unique_ptr<HeapReporter> heap;
  step("heap", [&] { heap = std::make_unique<HeapReporter>(runtime); });
  if (!heap) return;
  StackReporter stacks(runtime, *const_cast<MemoryReader*>(&runtime.target()->memory()),
                       [](FrameRow&, Address) {});
  HeapHolders holders(runtime, *heap, stacks, [&] {
    std::vector<HeapHolders::ThreadStart> starts;
    for (const ThreadRegisters& thread : core.threads())
      starts.push_back({thread.os_id, context_of_thread(core.platform().cpu, thread)});
    return starts;
  });
  HeapRetainers retainers(*heap, holders);
  step("stat", [&] {
    const HeapStatistics& counted = heap->statistics();
    std::uint64_t bytes = 0;
    for (const HeapRangeCount& range : counted.ranges) bytes += range.live.bytes + range.free.bytes;
    for (const HeapGap& gap : counted.gaps) bytes += gap.bytes;
    demand(bytes <= heap->map().bytes(), "more bytes than the heap has");
    dump(heap_json(heap->map(), counted));
    dump(to_json(heap->count_types({.top = 50}), heap->map(), {}));
    gap_texts(counted.gaps, heap->map().bytes());
  });
  step("memory", [&] {
    Json json;
    add_to_json(json, memory_use(runtime, *heap, [&] {
                  SaveSource source;
                  source.platform = core.platform();
                  source.threads = core.threads();
                  source.segments = core.segments();
                  source.files = core.file_mappings();
                  return source;
                }));
    dump(json);
  });
  step("free", [&] { dump(free_json(*heap, heap->free_space(20))); });
  step("arrays", [&] { dump(to_json(find_arrays(*heap, {.objects = {.top = 50}, .sparse = true}))); });
  step("table", [&] { make_heap_table(heap->map(), heap->types()); });
  step("alloc", [&] {
    const ContextOwners owners(stacks.threads());
    for (const AllocationContext& context : heap->map().contexts)
      dump(allocation_json(context, owners.of(context), heap->map()));
  });
  step("where", [&] {
    ObjectCondition number("Id=4711"), text("Customer>a");
    std::string why;
    std::size_t looked_at = 0;
    heap->for_each_object({.glob = "HeapProgram.*"}, [&](const HeapObjectRow& row) {
      number.holds(*runtime.objects(), row.address, why);
      text.holds(*runtime.objects(), row.address, why);
      return ++looked_at < 2000;
    });
  });
  step("strings", [&] {
    std::size_t seen = 0;
    for_each_string(runtime, *heap, {.match = "*a*"}, [&](const HeapString&) { return ++seen < 5000; });
    find_duplicates(runtime, *heap, {}, 20, [] { return true; });
  });
  step("diff", [&] {
    const HeapSummary summary = summarize(*heap);
    const HeapSummary again = parse_heap_summary(heap_summary_text(summary), "summary");
    demand(compare(summary, again).rows.empty(), "a summary that was kept is another one");
  });
  step("handles", [&] { holders.handles(); });
  step("finalizers", [&] { holders.finalizers(); });
  step("verify", [&] { dump(to_json(holders.verify())); });
  step("roots", [&] { holders.roots(); });
  for (const HeapRoot::Kind kind : {HeapRoot::Kind::handle, HeapRoot::Kind::finalizer,
                                    HeapRoot::Kind::thread_static, HeapRoot::Kind::static_field})
    step("roots of a kind", [&] {
      for (const HeapRoot& root : holders.roots_of(kind)) dump(root_json(root, ""));
    });
  step("live", [&] { holders.count_reached(true); });
  for (std::size_t i = 0; i < 3 && i < sound.objects.size(); ++i) {
    const Address object = sound.objects[sound.objects.size() / 3 * i];
    step("paths", [&] { holders.paths(object, 3); });
    step("refs", [&] {
      const auto all = [](const HeapReference&) { return true; };
      holders.for_each_reference(object, all);
      holders.for_each_referrer(object, all);
    });
    step("object", [&] { retainers.object(object); });
  }
  for (const RetainedBy by : {RetainedBy::object, RetainedBy::type, RetainedBy::assembly,
                              RetainedBy::static_field, RetainedBy::root})
    step("retained", [&] { retainers.rows(by, "", 20); });
  step("page", [&] {
    HeapReporter own(runtime);
    HeapHolders of_own(runtime, own, stacks, [&] { return std::vector<HeapHolders::ThreadStart>(); });
    HeapRetainers retained(own, of_own);
    const unsigned walks = make_page_of(runtime, core, stacks, own, of_own, retained);
    demand(walks <= 3, "the page walked the heap more than three times");
  });
  for (const bool live : {false, true})
    step("gcdump", [&] {
      write_heap_gcdump(*heap, holders, {.process = "mutant"}, live, [](std::span<const std::byte>) {});
    });
}

Places find_places(Runtime& runtime, const ElfCore& core) {
  Places found;
  HeapReporter heap(runtime);
  const GcState& state = heap.map().state;
  const auto words = [](std::vector<Address>& into, Address at, unsigned count) {
    for (unsigned i = 0; i < count; ++i) into.push_back(at + 8 * Address{i});
  };
  words(found.collector, state.variables, 42);
  for (const GcHeap& one : state.heaps) {
    for (std::uint32_t generation = 0; generation < state.generation_count; ++generation)
      words(found.collector, one.generations + Address{generation} * state.layout.generation_size, 9);
    words(found.queues, one.finalize_queue, 9);
  }
  for (const HeapRange& range : heap.map().ranges) words(found.segments, range.segment, 9);
  heap.statistics();
  for (std::uint32_t i = 0; i < heap.types().count(); ++i) {
    const Address table = heap.types().at(i).method_table;
    words(found.types, table - 24, 8);
    found.tables.push_back(table);
    found.names.push_back(heap.type(table).name);
  }
  std::size_t number = 0;
  std::map<Address, unsigned> seen; // by MethodTable
  heap.for_each_object({}, [&](const HeapObjectRow& row) {
    if (++seen[row.type->method_table] <= 2) found.of_types.push_back(row.address);
    if (++number % 7 == 0) found.objects.push_back(row.address);
    if (row.size > 64 && number % 3 == 0) found.arrays.push_back(row.address + 8);
    return true;
  });
  words(found.handles, state.handle_table_map, 3);
  for (const GcHandle& handle : read_handles(*runtime.target(), state).handles) {
    found.handles.push_back(handle.slot);
    words(found.handles, (handle.slot & ~Address{0xffff}) + 1560, 64);
  }
  (void)core;
  return found;
}

class Mutator {
public:
  Mutator(Changeable& bytes, const ElfCore& core, const Places& places, unsigned number)
      : bytes_(bytes), core_(core), places_(places), random_(number) {}

  // Returns what was done.
  std::string damage(Torn& torn, FailingReader& failing) {
    std::string done;
    for (unsigned i = 0; i <= below(3); ++i) done += one(torn, failing) + " ";
    return done;
  }
  // The objects in which something was changed.
  const std::vector<Address>& damaged() const { return damaged_; }

private:
  std::uint64_t below(std::uint64_t end) { return random_() % end; }
  Address pick(const std::vector<Address>& from) { return from.empty() ? 0 : from[below(from.size())]; }

  Address old(Address at) const {
    std::uint64_t value = 0;
    const CoreSegment* const segment = core_.segment_at(at);
    if (segment == nullptr || at - segment->begin + 8 > segment->file_size) return 0;
    std::memcpy(&value, bytes_.bytes().data() + segment->file_offset + (at - segment->begin), 8);
    return value;
  }

  // A word that could stand there, but does not.
  std::uint64_t wrong(Address at) {
    switch (below(10)) {
    case 0:
      return 0;
    case 1:
      return ~std::uint64_t{0};
    case 2:
      return old(at) + 8;
    case 3:
      return old(at) - 8 * below(100);
    case 4:
      return old(at) ^ std::uint64_t{1} << below(64);
    case 5:
      return at; // leads to itself
    case 6:
      return pick(places_.objects);
    case 7:
      return pick(places_.types);
    case 8:
      return pick(places_.segments);
    default:
      return old(at) * 2;
    }
  }

  void change(Address at) {
    if (at != 0) bytes_.write(core_, at, wrong(at));
  }

  std::string one(Torn& torn, FailingReader& failing) {
    switch (below(11)) {
    case 0:
      change(pick(places_.collector));
      return "collector";
    case 1:
      change(pick(places_.segments));
      return "segment";
    case 2: {
      // A list of segments that leads back into itself.
      const std::size_t count = places_.segments.size() / 9;
      if (count != 0)
        bytes_.write(core_, places_.segments[9 * below(count) + 6], places_.segments[9 * below(count)]);
      return "cycle";
    }
    case 3:
      change(pick(places_.types));
      return "type";
    case 4:
      for (int i = 0; i < 20; ++i) change(damaged_.emplace_back(pick(places_.objects)) + 8 * below(4));
      return "objects";
    case 5:
      // Counts that lie.
      for (int i = 0; i < 5; ++i) {
        const Address count = pick(places_.arrays);
        bytes_.write(core_, count, below(2) ? random_() : 1 << below(31), 4);
        damaged_.push_back(count - 8);
      }
      return "counts";
    case 6:
      change(pick(places_.handles));
      return "handles";
    case 7:
      change(pick(places_.queues));
      return "queue";
    case 8: {
      const Address at = pick(places_.objects) & ~Address{0xfff};
      torn.holes.push_back({at, 4096 * (1 + below(64))});
      return "torn";
    }
    case 9: {
      // Two objects that refer to each other, and one to itself.
      const Address a = pick(places_.objects), b = pick(places_.objects);
      bytes_.write(core_, a + 8, b);
      bytes_.write(core_, b + 8, a);
      bytes_.write(core_, a + 16, a);
      damaged_.insert(damaged_.end(), {a, b});
      return "loop";
    }
    default:
      failing.fail_at(1 + below(200'000));
      return "failing read";
    }
  }

  Changeable& bytes_;
  const ElfCore& core_;
  const Places& places_;
  std::mt19937_64 random_;
  std::vector<Address> damaged_;
};

int run_mutants(const char* path, unsigned count, unsigned first) {
  Changeable bytes(path);
  ElfCore core(bytes.bytes());
  const ModuleList list = list_modules(core, core);
  const Places places = [&] {
    Runtime runtime(core, list.modules, core.platform(), nullptr);
    if (runtime.absence() != nullptr) refuse_run("no runtime");
    return find_places(runtime, core);
  }();
  {
    Runtime runtime(core, list.modules, core.platform(), nullptr);
    Ends ends;
    ask(runtime, core, places, ends);
    for (const auto& [end, times] : ends)
      demand(end.ends_with("answered"), fmt::format("the sound core: {}", end).c_str());
    ends.clear();
    ask_objects(runtime, places, places.objects, 0, ends);
    for (const char* const what : {"object", "object's parts", "object as JSON"})
      demand(ends[fmt::format("{}: answered", what)] >= places.objects.size() + objects_asked,
             "objects of the sound core are refused");
  }
  const long peak = peak_kilobytes();
  Ends ends;
  double slowest = 0;
  for (unsigned number = first; number < first + count; ++number) {
    Torn torn(core);
    FailingReader failing(torn);
    Mutator mutator(bytes, core, places, number);
    const std::string done = mutator.damage(torn, failing);
    fmt::print(stderr, "{} {}\n", number, done); // the last one before a crash is the one that crashed
    const double begin = processor_seconds();
    Runtime runtime(failing, list.modules, core.platform(), nullptr);
    // First: a read that fails shall fail here, too, and not always in the heap's walk.
    if (number % 2 == 0) ask_objects(runtime, places, mutator.damaged(), number, ends);
    ask(runtime, core, places, ends);
    if (number % 2 != 0) ask_objects(runtime, places, mutator.damaged(), number, ends);
    const double took = processor_seconds() - begin;
    slowest = std::max(slowest, took);
    demand(took < 60, "a minute of processor time");
    bytes.restore();
  }
  demand(peak_kilobytes() - peak < 1 << 20, "a gigabyte more");
  for (const auto& [end, times] : ends) fmt::print("{:>6} {}\n", times, end);
  fmt::print("{} mutants, the slowest {:.1f} s, {} MB more than the sound core\n", count, slowest,
             (peak_kilobytes() - peak) / 1024);
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: heap_mutants CORE COUNT [FIRST]\n");
    return 2;
  }
  try {
    return run_mutants(argv[1], static_cast<unsigned>(std::stoul(argv[2])),
                       argc > 3 ? static_cast<unsigned>(std::stoul(argv[3])) : 1);
  } catch (const std::exception& error) {
    fmt::print(stderr, "heap_mutants: {}\n", error.what());
    return 1;
  }
}
