// The managed heap of a damaged runtime: the collector's variables, segments, contexts, types and objects.
#include "core/heap/heap_statistics.h"
#include "tests/fuzz/scenes.h"
#include "tests/heap/heap_runtime.h"

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
}

// Some objects of every kind, with memory that was given to threads between them.
class BuiltHeap final : public Scene {
public:
  BuiltHeap(Platform platform, bool regions, unsigned heaps) : built_(platform, regions, heaps) {
    const unsigned word = built_.word;
    const Address plain = built_.type(4 * word), array = built_.type(3 * word, word),
                  text = built_.type(3 * word - 2, 2);
    for (unsigned generation : {0u, 1u, 2u, 3u, 4u}) {
      const Address begin = built_.fresh_region();
      Address at = begin;
      for (unsigned i = 0; i < 6; ++i)
        at = built_.object(at, i % 3 == 0 ? plain : i % 3 == 1 ? array : text, 3 * i);
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
    set_up(built_.memory, built_.t.contract_descriptor(), platform);
  }

  unsigned parts() const override { return 1; }
  void ask(const Target& target, unsigned) override {
    attempt([&] { walk(target); });
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
