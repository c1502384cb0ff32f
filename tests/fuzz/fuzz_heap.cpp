// The managed heap of a damaged runtime: the collector's variables, or what its contract describes, segments,
// contexts, types, objects, and what the commands about the heap tell of them.
#include "core/heap/finalizer_queue.h"
#include "core/heap/gc_notes.h"
#include "core/heap/heap_free.h"
#include "core/heap/heap_retained.h"
#include "core/heap/heap_table.h"
#include "core/heap/object_starts.h"
#include "core/memory/page_cache.h"
#include "core/report/heap_gcdump.h"
#include "core/report/heap_json.h"
#include "core/report/heap_summary_file.h"
#include "core/report/holders_json.h"
#include "core/runtime/heap_arrays.h"
#include "core/runtime/heap_strings.h"
#include "core/runtime/native_names.h"
#include "tests/fuzz/recorded_core.h"
#include "tests/heap/described_heap.h"

#include <nlohmann/json.hpp>

#include <algorithm>

using namespace clr;
using namespace clr::fuzz;

namespace {

void walk(const Target& target) {
  const HeapMap map = read_heap_map(target, test::HeapRuntime::module);
  const GcNotes notes = read_gc_notes(target, map.state);
  for (const GcFailure& failure : notes.failures)
    require(!failure_text(failure).empty(), "a failure is told");
  require(notes.reserved.size <= max_gc_reserved_bytes && notes.tables.size <= max_gc_reserved_bytes,
          "what the collector reserves is bounded");
  Address end = 0;
  for (const HeapRange& range : map.ranges) {
    require(range.begin >= end && range.end >= range.begin, "ranges are ascending and disjoint");
    end = range.end;
  }
  require(map.problems.size() <= max_heap_problems, "problems are bounded");
  HeapTypes types(target);
  const HeapStatistics counted = count_heap(map, types, {}, 1);
  std::uint64_t gaps = 0;
  for (const HeapGap& gap : counted.gaps) {
    require(map.find(gap.address) != nullptr && gap.bytes != 0, "a gap is in the heap");
    gaps += gap.bytes;
  }
  std::uint64_t bytes = 0;
  for (const HeapRangeCount& range : counted.ranges) bytes += range.live.bytes + range.free.bytes;
  require(bytes + gaps <= map.bytes(), "objects and gaps lie in the heap");
  HeapCount free, of_classes;
  for (const HeapRangeCount& range : counted.ranges) free += range.free;
  const HeapFreeSpace space = count_free_space(map, types, 3, {}, 1);
  for (const FreePart& part : space.parts)
    for (const HeapCount& one : part.classes) of_classes += one;
  require(of_classes.objects == free.objects && of_classes.bytes == free.bytes,
          "free memory is in its classes");
  require(space.largest.size() == std::min<std::uint64_t>(free.objects, 3), "the largest blocks are kept");
  const HeapTable table = make_heap_table(map, types, {}, 1);
  std::uint64_t of_table = 0;
  for (std::size_t i = 0; i < table.count(); ++i) {
    of_table += table.sizes[i];
    require(map.find(table.addresses[i]) != nullptr && table.types[i] < types.count(), "a row is an object");
    require(i == 0 || table.addresses[i] > table.addresses[i - 1], "rows are ascending");
  }
  // During a collection a walk finds its way behind the collector's notes by the types that it has met, and
  // a later one has met more.
  require(of_table == bytes || (map.state.structures_invalid > 0 && of_table > bytes),
          "a table has all objects");
  ObjectStarts starts(target, map);
  for (const HeapRange& range : map.ranges)
    for (const Address at : {range.begin, range.begin + (range.end - range.begin) / 2, range.end}) {
      const auto holder = starts.holder(at);
      require(!holder || (at >= holder->begin && at - holder->begin < holder->size),
              "what holds an address lies around it");
    }
}

// What learns of the objects up to one of them, and fails: as when the memory of this host is used up.
class Failing final : public HeapWork {
public:
  std::unique_ptr<HeapSink> sink() override { return std::make_unique<Sink>(); }
  void end(std::span<const std::unique_ptr<HeapSink>>, const HeapWalkResult&) override {
    throw Error(ErrorKind::memory_missing, "the end");
  }

private:
  struct Sink final : HeapSink {
    void begin(std::size_t) override {}
    void add(std::span<const HeapObject> objects) override {
      if (objects.back().address % 64 != 0) throw Error(ErrorKind::memory_missing, "an object");
    }
  };
};

// A work that fails leaves the others whole; what fails in one thread is told when all have ended.
void fail(const Target& target) {
  const HeapMap map = read_heap_map(target, test::HeapRuntime::module);
  HeapTypes types(target);
  count_heap(map, types, {}, 1); // what a walk of its own cannot do, a shared one cannot either
  Failing failing;
  HeapCounting counting(map, types);
  HeapWork* const works[] = {&failing, &counting};
  walk_heap(map, types, works, {}, 1);
  require(failing.failure != nullptr, "a failure is kept");
  require(counting.failure == nullptr, "the others go on");
  std::vector<std::unique_ptr<HeapSink>> sinks;
  sinks.push_back(failing.sink());
  attempt([&] { walk_heap(map, types, map.ranges, sinks, {}); });
  bool told = false;
  try {
    share_out(map.ranges.size() + 1, 1, [](std::size_t number) {
      if (number % 2 == 0) throw Error(ErrorKind::memory_missing, "a range");
    });
  } catch (const Error&) {
    told = true;
  }
  require(told, "what fails is told");
}

void follow(const Target& target) {
  const HeapMap map = read_heap_map(target, test::HeapRuntime::module);
  const FinalizerQueue queue = read_finalizer_queue(target, map.state);
  GcHandles handles;
  attempt([&] { handles = read_handles(target, map.state); });
  for (const GcHandle& handle : handles.handles) require(handle.object != 0, "a free handle is no handle");
  HeapTypes types(target);
  ReferenceMaps maps(types);
  HeapGraph graph(map, maps, handles, {}, 1);
  require(graph.in().count() == graph.out().count(), "each reference has two ends");
  std::vector<std::uint32_t> roots;
  for (const GcHandle& handle : handles.handles) roots.push_back(graph.index().find(handle.object));
  for (const auto& ready : queue.ready) roots.push_back(graph.index().find(ready.object));
  const HeapTree tree(graph, roots);
  const std::uint32_t count = graph.index().count();
  for (std::uint32_t i = 0; i < count; ++i) {
    require(graph.index().find(graph.index().address(i)) == i, "a number leads to its object");
    // Whole ways of few objects only: a list makes them long.
    const std::size_t length_asked = i % 64 == 0 ? count : 2;
    for (const std::size_t most : {std::size_t{1}, std::size_t{4}, length_asked}) {
      HeapTree::Path path = tree.path(i, most);
      require((path.first.empty() && path.last.empty()) != tree.reached(i), "what is reached has a path");
      require(path.first.size() <= most && path.last.size() <= most, "a path has its limit");
      const std::size_t length = path.first.size() + path.left_out + path.last.size();
      for (const std::vector<std::uint32_t>& way : {path.first, path.last})
        for (std::size_t step = 1; step < way.size(); ++step) {
          const auto out = graph.out().of(way[step - 1]);
          require(std::ranges::find(out, way[step]) != out.end(), "each step is a reference");
        }
      if (most != length_asked || path.left_out != 0) continue;
      path.cut(1);
      require(path.first.size() + path.left_out + path.last.size() == length, "a cut leaves the length");
    }
  }
  HeapRootGroups groups{.of_root = {}, .count = 2, .cut = {}};
  for (std::size_t i = 0; i < roots.size(); ++i) groups.of_root.push_back(i % 2);
  const HeapRetained retained(map, types, graph, roots, {}, &groups);
  require(retained.count(count) + retained.count(count + 1) <= tree.reached_count(),
          "groups retain what is alive");
}

// Some objects of every kind, with memory that was given to threads between them.
class BuiltHeap final : public Scene {
public:
  // `contract`: as .NET 11 describes it.
  BuiltHeap(Platform platform, bool regions, unsigned heaps, bool contract = false)
      : built_(platform, regions, heaps) {
    const unsigned word = built_.word;
    const Address plain = built_.type_with(4 * word, {{word, 2 * std::uint64_t{word}}}),
                  array = built_.array_of_references(), text = built_.type(3 * word - 2, 2),
                  values = built_.array_of_values(2 * word, 0, {{1, word}});
    Address before = 0;
    for (unsigned generation : {0u, 1u, 2u, 3u, 4u}) {
      const Address begin = built_.fresh_region();
      Address at = begin;
      for (unsigned i = 0; i < 8; ++i) {
        const Address type = i % 4 == 0 ? plain : i % 4 == 1 ? array : i % 4 == 2 ? text : values;
        const Address next = built_.object(at, type, 2 * i);
        if (type != text) built_.set_word(at + (type == plain ? word : 2 * word), before);
        before = at;
        at = next;
      }
      if (word == 8) built_.handle(generation, before, generation == 0 ? begin : 0);
      if (word == 8 && generation == 4) built_.handle(6, begin, before);
      built_.thread_context(at, at + 2 * word);
      at = built_.object(at + 5 * word, built_.free_type, 64);
      const Address segment = built_.segment(0, regions || generation > 2 ? generation : 2, begin, at);
      if (generation != 0) continue;
      built_.set_ephemeral(0, segment, at);
      if (!regions) {
        built_.set_generation_start(0, 1, begin + 4 * word);
        built_.set_generation_start(0, 0, begin + 4 * word);
      }
    }
    for (unsigned heap = 0; heap < std::max(heaps, 1u); ++heap)
      queues_.push_back(built_.finalizer_queue(heap, {{{before}, {}, {}, {}, {before}, {}, {before}}}));
    const Address failure = note_failure();
    if (contract) describe(regions, heaps, failure);
    set_up(built_.memory, built_.t.contract_descriptor(), platform);
  }

  unsigned parts() const override { return 3; }
  void ask(const Target& target, unsigned part) override {
    attempt([&] { part == 0 ? walk(target) : part == 1 ? follow(target) : fail(target); });
  }
  std::vector<Damage> damages() override {
    if (queues_.size() < 2) return {};
    Damage shared{.name = "shared-queue", .part = 1, .edits = {}};
    for (unsigned i = 0; i < 9; ++i)
      shared.edits.push_back({.width = static_cast<std::uint8_t>(built_.word),
                              .at = queues_[1] + i * built_.word,
                              .value = built_.target().read_pointer(queues_[0] + i * built_.word)});
    return {shared};
  }

private:
  // The collector's record of the last allocation that failed, its tables, and that it adapts its heaps.
  Address note_failure() {
    const unsigned word = built_.word;
    const Target view = built_.target();
    const Address longer = built_.memory.allocate(42 * std::size_t{word});
    for (unsigned i = 0; i < 36; ++i)
      built_.set_word(longer + i * word, view.read_pointer(built_.variables + i * word));
    built_.memory.at(longer).u8(2).u8(4);
    built_.set_word(built_.variables_slot, longer);
    const Address record = built_.memory.allocate(9 * std::size_t{word}), mode = built_.memory.allocate(4);
    const std::array<Address, 9> words{2, 80'000, 0, 0, 17, 3, 4096, 0, 1};
    for (unsigned i = 0; i < words.size(); ++i)
      built_.memory.write_integer(record + i * word, words[i], i == 0 || i == 5 || i == 8 ? 4 : word);
    built_.set_word(longer + 17 * word, record);
    const Address tables = built_.memory.allocate(6 * std::size_t{word}), slot = built_.memory.allocate(word);
    built_.set_word(slot, tables);
    built_.set_word(tables + word, 0x5000);
    built_.set_word(tables + 3 * word, 0x2000'0000);
    built_.set_word(tables + 4 * word, 0x2800'0000);
    built_.set_word(longer + 32 * word, slot);
    built_.memory.write_integer(mode, 1, 4);
    built_.set_word(longer + 41 * word, mode);
    return record;
  }

  void describe(bool regions, unsigned heaps, Address failure) {
    describe_by_contract(built_, regions, heaps != 0);
    describe_handles_by_contract(built_);
    auto& types = built_.t.descriptor().types;
    types["OomHistory"].fields = {{"Reason", {.offset = 0}},   {"AllocSize", {.offset = 8}},
                                  {"GcIndex", {.offset = 32}}, {"Fgm", {.offset = 40}},
                                  {"Size", {.offset = 48}},    {"LohP", {.offset = 64}}};
    if (heaps != 0) types["GCHeap"].fields["OomData"] = {.offset = 64};
    const Address mode = built_.memory.allocate(4), background = built_.memory.allocate(4);
    built_.memory.write_integer(mode, 1, 4);
    built_.memory.write_integer(background, heaps != 0 ? 1 : 0, 4); // sweeps or marks
    built_.t.pointer_global("DynamicAdaptationMode", mode);
    built_.t.pointer_global("CurrentGCState", background);
    if (heaps == 0) built_.t.pointer_global("GCHeapOomData", failure);
  }

  test::HeapRuntime built_;
  std::vector<Address> queues_; // of finalizers, for each heap
};

// The heap of a real process, and what users ask of it.
class RecordedHeap final : public RecordedScene {
public:
  explicit RecordedHeap(const std::string& name) : RecordedScene(name), names_(*recorded_.core) {}

  unsigned parts() const override { return 5; }
  void ask(const Target& target, unsigned part) override {
    PageCache pages(target.memory());
    Runtime runtime(pages, recorded_.modules, recorded_.platform, nullptr);
    if (runtime.absence() != nullptr) return;
    attempt([&] {
      HeapReporter heap(runtime);
      if (part == 0) return count(heap);
      if (part == 1) return strings(runtime, heap);
      StackReporter stacks(runtime, pages, [this](FrameRow& row, Address) { names_.name(row); });
      HeapHolders holders(runtime, heap, stacks, [this] { return starts(); });
      if (part == 2) return hold(heap, holders);
      if (part == 3) return retain(heap, holders);
      interrupt(heap, holders);
    });
  }
  std::vector<Damage> damages() override {
    Runtime runtime(*recorded_.core, recorded_.modules, recorded_.platform, nullptr);
    const Target& target = *runtime.target();
    StackReporter stacks(runtime, *recorded_.core, {});
    Damage missing{.name = "no-thread-statics", .part = 2, .edits = {}};
    for (const RuntimeThread& thread : stacks.threads().threads)
      if (missing.edits.size() < most_threads)
        missing.edits.push_back({.width = 0,
                                 .at = target.field_address(thread.address, "Thread", "ThreadLocalDataPtr"),
                                 .value = target.pointer_size()});
    return {missing};
  }

private:
  static constexpr std::size_t most_rows = 40, most_threads = 4;

  std::vector<HeapHolders::ThreadStart> starts() const {
    std::vector<HeapHolders::ThreadStart> starts;
    for (const ThreadRegisters& thread : recorded_.core->threads())
      if (starts.size() < most_threads)
        starts.push_back({.os_id = thread.os_id, .registers = recorded_.registers_of(thread)});
    return starts;
  }

  static void count(HeapReporter& heap) {
    dump(heap_json(heap.map(), heap.statistics()));
    dump(to_json(heap.count_types({.top = most_rows}), heap.map(), {}));
    dump(free_json(heap, heap.free_space(3)));
    std::size_t left = most_rows;
    heap.for_each_object({.glob = "*String*"}, [&](const HeapObjectRow& row) {
      require(row.type != nullptr && heap.map().find(row.address) != nullptr, "an object has type and place");
      return --left != 0;
    });
    const HeapSummary summary = summarize(heap);
    const HeapSummary again = parse_heap_summary(heap_summary_text(summary), "saved");
    require(again.all.objects == summary.all.objects && again.types.size() == summary.types.size(),
            "a summary that was saved is read again");
    require(compare(summary, again).rows.empty(), "a heap does not differ from itself");
    HeapSummary other = summary;
    if (other.types.size() < 4) return;
    other.types.erase(other.types.begin());
    other.types[0].count.bytes += 24;
    other.types[1].count.bytes -= std::min<std::uint64_t>(other.types[1].count.bytes, 24);
    other.types[2].name += "$";
    for (const bool by_count : {false, true})
      for (const HeapChange& change :
           compare(summary, other, {.least_bytes = by_count ? 0u : 1u, .by_count = by_count}).rows)
        require(change.kind() != "same", "a change changes something");
  }

  static void strings(Runtime& runtime, HeapReporter& heap) {
    std::size_t left = most_rows;
    for_each_string(runtime, heap, {.least_bytes = 40}, [&](const HeapString& text) {
      require(text.count == 1, "a string is one string");
      return --left != 0;
    });
    const DuplicateStrings found = find_duplicates(runtime, heap, {}, most_rows, [] { return true; });
    require(found.rows.size() <= most_rows && found.texts <= found.strings, "each string has a text");
    for (const bool sparse : {false, true}) {
      const HeapArrays arrays = find_arrays(heap, {.objects = {.top = most_rows}, .sparse = sparse});
      require(arrays.rows.size() <= most_rows && arrays.empty_bytes <= arrays.bytes,
              "what is empty is a part of it");
      for (const HeapArray& row : arrays.rows)
        require(row.counts.empty <= row.counts.elements, "an empty element is an element");
    }
  }

  static void hold(HeapReporter& heap, HeapHolders& holders) {
    dump(to_json(holders.verify()));
    attempt([&] { write_finalizers_json(holders, [](std::string_view) { return true; }); });
    for (std::size_t i = 0; i < std::min(most_rows, holders.handles().handles.size()); ++i)
      dump(to_json(holders.handles().handles[i], holders));
    const auto& roots = holders.roots();
    for (std::size_t i = 0; i < std::min(most_rows, roots.size()); ++i)
      attempt([&] {
        dump(to_json(roots[i]));
        holders.for_each_reference(roots[i].object, [&](const HeapReference& reference) {
          out_json(reference, holders);
          attempt([&] {
            for (const std::size_t most : {1, 2})
              for (const HeapPath& path : holders.paths(reference.to, most).paths) dump(to_json(path));
          });
          return true;
        });
        holders.for_each_referrer(roots[i].object, [&](const HeapReference& reference) {
          require(reference.to == roots[i].object, "what refers to an object refers to it");
          return true;
        });
      });
    for (const HeapRoot::Kind kind :
         {HeapRoot::Kind::handle, HeapRoot::Kind::finalizer, HeapRoot::Kind::thread_static,
          HeapRoot::Kind::static_field, HeapRoot::Kind::stack})
      attempt([&] {
        for (const HeapRoot& root : holders.roots_of(kind))
          require(root.kind == kind && root.object != 0, "a root holds something");
      });
    for (const bool live : {false, true}) {
      std::uint64_t bytes = 0;
      const WrittenGcdump written = write_heap_gcdump(
          heap, holders, {}, live, [&](std::span<const std::byte> some) { bytes += some.size(); });
      require(bytes == written.file_bytes, "a file has the size that it says");
      dump(to_json(written, "a.gcdump"));
    }
  }

  // Each walk, left at once and a little later.
  static void interrupt(HeapReporter& heap, HeapHolders& holders) {
    for (const int steps : {0, 1, 4}) {
      int left = steps;
      const HeapWalkOptions hasty{.progress = [&](std::uint64_t, std::uint64_t) { return left-- > 0; }};
      const auto leave = [&](auto&& walk) {
        left = steps;
        attempt(walk);
      };
      leave([&] { summarize(heap, hasty); });
      leave([&] { heap.statistics(hasty); });
      leave([&] { holders.verify(hasty); });
      leave([&] { holders.tree(hasty); });
      leave([&] { holders.count_reached(true, hasty); });
      leave([&] {
        write_heap_gcdump(
            heap, holders, {}, false, [](std::span<const std::byte>) {}, hasty);
      });
      leave([&] { HeapRetainers(heap, holders).rows(RetainedBy::root, "", most_rows, hasty); });
    }
  }

  static void retain(HeapReporter& heap, HeapHolders& holders) {
    HeapRetainers retainers(heap, holders);
    for (const RetainedBy by : {RetainedBy::object, RetainedBy::type, RetainedBy::assembly,
                                RetainedBy::static_field, RetainedBy::root})
      attempt([&] {
        for (const RetainedRow& row : retainers.rows(by, "", most_rows)) {
          dump(to_json(row));
          if (row.object != 0) attempt([&] { dump(to_json(retainers.object(row.object))); });
        }
      });
    dump(heap_json(heap.map(), holders.count_reached(true)));
  }

  RecordedNames names_;
};

} // namespace

std::vector<std::unique_ptr<Scene>> clr::fuzz::make_scenes() {
  std::vector<std::unique_ptr<Scene>> scenes;
  const Platform narrow{.pointer_size = 4, .byte_order = ByteOrder::big};
  scenes.push_back(std::make_unique<BuiltHeap>(Platform{}, true, 0));
  scenes.push_back(std::make_unique<BuiltHeap>(Platform{}, false, 0));
  scenes.push_back(std::make_unique<BuiltHeap>(Platform{}, true, 2));
  scenes.push_back(std::make_unique<BuiltHeap>(narrow, true, 0));
  scenes.push_back(std::make_unique<BuiltHeap>(Platform{}, true, 0, true));
  scenes.push_back(std::make_unique<BuiltHeap>(Platform{}, false, 2, true));
  scenes.push_back(std::make_unique<RecordedHeap>("suspended-x64"));
  scenes.push_back(std::make_unique<RecordedHeap>("stuck-x64"));
  return scenes;
}
