// The managed heap of a damaged runtime: the collector's variables, segments, contexts, types and objects.
#include "core/heap/finalizer_queue.h"
#include "core/heap/heap_free.h"
#include "core/heap/heap_retained.h"
#include "core/heap/heap_table.h"
#include "tests/fuzz/scenes.h"
#include "tests/heap/heap_runtime.h"

#include <algorithm>

using namespace clr;
using namespace clr::fuzz;

namespace {

void walk(const Target& target) {
  const HeapMap map = read_heap_map(target, test::HeapRuntime::module);
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
  require(of_table == bytes, "a table has all objects");
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
  for (std::uint32_t i = 0; i < graph.index().count(); ++i) {
    require(graph.index().find(graph.index().address(i)) == i, "a number leads to its object");
    const auto path = tree.path(i);
    require(path.empty() != tree.reached(i), "what is reached has a path");
    for (std::size_t step = 1; step < path.size(); ++step) {
      const auto out = graph.out().of(path[step - 1]);
      require(std::ranges::find(out, path[step]) != out.end(), "each step is a reference");
    }
  }
  HeapRootGroups groups{.of_root = {}, .count = 2, .cut = {}};
  for (std::size_t i = 0; i < roots.size(); ++i) groups.of_root.push_back(i % 2);
  const HeapRetained retained(map, types, graph, roots, {}, &groups);
  const std::uint32_t count = graph.index().count();
  require(retained.count(count) + retained.count(count + 1) <= tree.reached_count(),
          "groups retain what is alive");
}

// Some objects of every kind, with memory that was given to threads between them.
class BuiltHeap final : public Scene {
public:
  BuiltHeap(Platform platform, bool regions, unsigned heaps) : built_(platform, regions, heaps) {
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
    built_.finalizer_queue(0, {{{before}, {}, {}, {}, {before}, {}, {before}}});
    set_up(built_.memory, built_.t.contract_descriptor(), platform);
  }

  unsigned parts() const override { return 2; }
  void ask(const Target& target, unsigned part) override {
    attempt([&] { part == 0 ? walk(target) : follow(target); });
  }

private:
  test::HeapRuntime built_;
};

} // namespace

std::vector<std::unique_ptr<Scene>> clr::fuzz::make_scenes() {
  std::vector<std::unique_ptr<Scene>> scenes;
  const Platform narrow{.pointer_size = 4, .byte_order = ByteOrder::big};
  scenes.push_back(std::make_unique<BuiltHeap>(Platform{}, true, 0));
  scenes.push_back(std::make_unique<BuiltHeap>(Platform{}, false, 0));
  scenes.push_back(std::make_unique<BuiltHeap>(Platform{}, true, 2));
  scenes.push_back(std::make_unique<BuiltHeap>(narrow, true, 0));
  return scenes;
}
