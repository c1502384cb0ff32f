// Where the heap is: the collector's variables, heaps, segments and regions.
#include "tests/heap/heap_runtime.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

// "gen0 0 5" for each range: its part, heap and size in words.
std::vector<std::string> texts(const HeapMap& map, unsigned word) {
  std::vector<std::string> result;
  for (const HeapRange& range : map.ranges)
    result.push_back(std::string(to_string(range.part)) + " " + std::to_string(range.heap) + " " +
                     std::to_string(range.size() / word));
  return result;
}

using Texts = std::vector<std::string>;

} // namespace

TEST_CASE("regions of every generation are found, in the order of their addresses", "[heap]") {
  for (const Platform platform : all_platforms()) {
    INFO(to_string(platform));
    HeapRuntime runtime(platform);
    const unsigned word = runtime.word;
    std::vector<Address> begins;
    for (unsigned generation : {4u, 0u, 2u, 1u, 3u, 2u}) {
      const Address begin = begins.emplace_back(runtime.fresh_region());
      runtime.segment(0, generation, begin, begin + (generation + 3) * word,
                      begins.size() == 6 ? 1 : 0); // the last one is read-only
    }
    runtime.set_ephemeral(0, runtime.segment(0, 0, begins[1] + 0x800, begins[1] + 0x800),
                          begins[1] + 0x800 + 9 * word);
    const HeapMap map = read_heap_map(runtime.target(), HeapRuntime::module);
    CHECK(texts(map, word) ==
          Texts{"poh 0 7", "gen0 0 3", "gen0 0 9", "gen2 0 5", "gen1 0 4", "loh 0 6", "frozen 0 5"});
    CHECK(map.problems.empty());
    CHECK(map.state.regions());
    CHECK_FALSE(map.state.server);
    CHECK(map.free_object == runtime.free_type);
    CHECK(map.find(begins[3]) == &map.ranges[4]);
    CHECK(map.find(begins[3] + 4 * word) == nullptr);
    CHECK(map.find(0x1000) == nullptr);
    CHECK(map.bytes() == 39 * word);
    CHECK(map.committed_bytes == 6 * HeapRuntime::region_size + HeapRuntime::region_size);
  }
}

TEST_CASE("a segment of young objects is split into its generations", "[heap]") {
  for (const Platform platform : all_platforms()) {
    INFO(to_string(platform));
    HeapRuntime runtime(platform, false);
    const unsigned word = runtime.word;
    const Address old = runtime.fresh_region(), young = runtime.fresh_region(),
                  large = runtime.fresh_region();
    const Address segment = runtime.segment(0, 2, young, young);
    runtime.segment(0, 2, old, old + 20 * word);
    runtime.segment(0, 3, large, large + 8 * word);
    // Generations 0 and 1 lead to the same list.
    runtime.segment(0, 0, old, old + 20 * word);
    runtime.set_ephemeral(0, segment, young + 30 * word);
    runtime.set_generation_start(0, 1, young + 10 * word);
    runtime.set_generation_start(0, 0, young + 16 * word);
    HeapMap map = read_heap_map(runtime.target(), HeapRuntime::module);
    CHECK_FALSE(map.state.regions());
    CHECK(texts(map, word) == Texts{"gen2 0 20", "gen2 0 10", "gen1 0 6", "gen0 0 14", "loh 0 8"});
    CHECK(map.ranges[2].segment == segment);
    CHECK(map.ranges[2].segment_begin == young);
    runtime.set_generation_start(0, 1, young - 10 * word);
    map = read_heap_map(runtime.target(), HeapRuntime::module);
    CHECK(texts(map, word) == Texts{"gen2 0 20", "gen2 0 30", "loh 0 8"});
    REQUIRE(map.problems.size() == 1);
    CHECK(map.problems[0].find("generations that do not follow each other") != std::string::npos);
  }
}

TEST_CASE("a server collector has several heaps", "[heap]") {
  for (const Platform platform : all_platforms()) {
    INFO(to_string(platform));
    HeapRuntime runtime(platform, true, 3);
    const unsigned word = runtime.word;
    for (unsigned heap = 0; heap < 3; ++heap) {
      const Address begin = runtime.fresh_region();
      runtime.set_ephemeral(heap, runtime.segment(heap, 0, begin, begin), begin + (4 + heap) * word);
    }
    HeapMap map = read_heap_map(runtime.target(), HeapRuntime::module);
    CHECK(map.state.server);
    CHECK(texts(map, word) == Texts{"gen0 0 4", "gen0 1 5", "gen0 2 6"});
    runtime.lose_heap(1);
    map = read_heap_map(runtime.target(), HeapRuntime::module);
    CHECK(texts(map, word) == Texts{"gen0 0 4", "gen0 2 6"}); // the others keep their numbers
    CHECK(map.state.heaps.size() == 3);
    REQUIRE(map.problems.size() == 1);
    CHECK_THAT(map.problems[0], Catch::StartsWith("heap 1: "));
    runtime.set_variable(22, max_gc_heaps + 1);
    CHECK_THROWS_WITH(read_heap_map(runtime.target(), HeapRuntime::module), Catch::Contains("1025 heaps"));
  }
}

TEST_CASE("contexts of generations and threads are found where the heap is", "[heap]") {
  for (const Platform platform : all_platforms()) {
    INFO(to_string(platform));
    HeapRuntime runtime(platform);
    const unsigned word = runtime.word;
    const Address begin = runtime.fresh_region();
    runtime.segment(0, 0, begin, begin + 100 * word);
    runtime.context(0, 0, begin + 50 * word, begin + 60 * word);
    runtime.context(0, 1, 0, 0);
    runtime.context(0, 2, begin + 40 * word, begin + 30 * word);  // ends before it begins
    runtime.thread_context(begin + 20 * word, begin + 20 * word); // exhausted
    runtime.thread_context(0, 0);
    runtime.thread_context(0x5000, 0x6000); // in no segment
    runtime.thread_context(begin + 90 * word, begin + 101 * word);
    const HeapMap map = read_heap_map(runtime.target(), HeapRuntime::module);
    REQUIRE(map.contexts.size() == 2);
    CHECK(map.contexts[0].begin == begin + 20 * word);
    CHECK(map.contexts[0].end == begin + 20 * word);
    CHECK(map.contexts[1].begin == begin + 50 * word);
    CHECK(map.contexts[1].end == begin + 60 * word);
  }
}

TEST_CASE("a collector that has not been initialised has no heap", "[heap]") {
  HeapRuntime runtime({});
  runtime.set_word(runtime.variables_slot, 0);
  CHECK_THROWS_WITH(read_heap_map(runtime.target(), HeapRuntime::module),
                    Catch::Contains("has not been initialised"));
  runtime.set_word(runtime.variables_slot, runtime.variables);
  runtime.set_variable(7, 3); // not the number of the oldest generation
  CHECK_THROWS_WITH(read_heap_map(runtime.target(), HeapRuntime::module),
                    Catch::Contains("has not been initialised"));
  runtime.memory.erase(runtime.variables, 8);
  CHECK_THROWS_WITH(read_heap_map(runtime.target(), HeapRuntime::module),
                    Catch::Contains("the memory that says where it is is not there"));
}

TEST_CASE("free memory has a type that is known by its shape, too", "[heap]") {
  for (const Platform platform : all_platforms()) {
    HeapRuntime runtime(platform);
    runtime.t.descriptor().globals.erase("FreeObjectMethodTable");
    CHECK(free_object_method_table(runtime.target(), HeapRuntime::module) == runtime.free_type);
    runtime.t.set(runtime.free_type, "MethodTable", "ParentMethodTable", 0x1000);
    CHECK_THROWS_WITH(free_object_method_table(runtime.target(), HeapRuntime::module),
                      Catch::Contains("free memory in the heap cannot be told"));
  }
}

TEST_CASE("lists that lie cost themselves", "[heap]") {
  HeapRuntime runtime({});
  const Address a = runtime.fresh_region(), b = runtime.fresh_region(), c = runtime.fresh_region();
  const Address last = runtime.segment(0, 2, a, a + 64);
  const Address first = runtime.segment(0, 2, b, b + 64);
  runtime.set_word(last + 48, first);                         // a loop
  runtime.segment(0, 1, a + 32, a + 128);                     // within another segment
  runtime.segment(0, 0, c, c - 8);                            // ends before it begins
  runtime.segment(0, 3, c, c + 2 * HeapRuntime::region_size); // ends beyond what it reserved
  const Address torn = runtime.segment(0, 4, c, c + 24);
  runtime.set_word(torn + 48, 0x10); // next
  const HeapMap map = read_heap_map(runtime.target(), HeapRuntime::module);
  CHECK(texts(map, 8) == Texts{"gen2 0 8", "gen2 0 8", "poh 0 3"});
  REQUIRE(map.problems.size() == 4);
  CHECK(map.problems[0].find("its objects cannot be from") != std::string::npos);
  CHECK(map.problems[2].find("generation 4: memory at 0x40 is not available") != std::string::npos);
  CHECK(map.problems[3].find("lies in memory of segment") != std::string::npos);
}
