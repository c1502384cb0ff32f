// Where objects begin: not where a word is a type's address, nor where one has been.
#include "core/heap/object_starts.h"
#include "tests/heap/heap_runtime.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

ObjectStarts starts_of(const Target& target) {
  return {target, read_heap_map(target, HeapRuntime::module)};
}

} // namespace

TEST_CASE("an address within an object or free memory is that of no object", "[heap]") {
  for (const Platform platform : all_platforms()) {
    INFO(to_string(platform));
    HeapRuntime runtime(platform);
    const unsigned word = runtime.word;
    const Address begin = runtime.fresh_region();
    const Address type = runtime.type(4 * word);
    const Address second = runtime.object(begin, type);
    const Address free = runtime.object(second, type);
    runtime.set_word(second + 2 * word, type); // as the handle of a System.RuntimeType
    const Address last = runtime.object(free, runtime.free_type, 8 * word);
    const Address dead = free + 4 * word; // what has died there
    runtime.set_word(dead, type);
    const Address end = runtime.object(last, type);
    runtime.segment(0, 0, begin, end);
    const Target target = runtime.target();
    ObjectStarts starts = starts_of(target);
    for (int round = 0; round < 2; ++round) {
      INFO(round);
      for (const Address object : {last, begin, second}) {
        const auto holder = starts.holder(object);
        REQUIRE(holder);
        CHECK(holder->begin == object);
        CHECK(holder->size == 4 * word);
        CHECK_FALSE(holder->free);
      }
      const auto within = starts.holder(second + 2 * word);
      REQUIRE(within);
      CHECK(within->begin == second);
      const auto remains = starts.holder(dead);
      REQUIRE(remains);
      CHECK(remains->begin == free);
      CHECK(remains->size == last - free);
      CHECK(remains->free);
      CHECK_FALSE(starts.holder(end));
      CHECK_FALSE(starts.holder(begin - word));
    }
  }
}

TEST_CASE("what a walk does not come to is not known", "[heap]") {
  HeapRuntime runtime(all_platforms().front());
  const unsigned word = runtime.word;
  const Address begin = runtime.fresh_region();
  const Address type = runtime.type(4 * word);
  runtime.object(begin, type);
  runtime.set_word(begin + 4 * word, 0x1234'5678); // no type
  runtime.object(begin + 8 * word, type);
  runtime.segment(0, 0, begin, begin + 12 * word);
  SECTION("nothing behind what makes no sense") {
    const Target target = runtime.target();
    ObjectStarts starts = starts_of(target);
    CHECK(starts.holder(begin));
    CHECK_FALSE(starts.holder(begin + 4 * word));
    CHECK_FALSE(starts.holder(begin + 8 * word));
  }
  SECTION("nothing during a collection") {
    const Target target = runtime.target();
    HeapMap map = read_heap_map(target, HeapRuntime::module);
    map.state.structures_invalid = 1;
    ObjectStarts starts(target, std::move(map));
    CHECK_FALSE(starts.holder(begin));
  }
}

TEST_CASE("a second address of a range is found from a place near it", "[heap]") {
  HeapRuntime runtime(all_platforms().front());
  const unsigned word = runtime.word;
  const Address begin = runtime.fresh_region();
  const Address type = runtime.type(16 * word);
  Address at = begin;
  while (at - begin < HeapRuntime::region_size / 4) at = runtime.object(at, type);
  // One that reaches beyond the next place that is kept.
  const Address large = at;
  const Address behind = runtime.object(large, runtime.type(3 * word, 1), 2 * ObjectStarts::stride);
  const Address end = runtime.object(behind, type);
  runtime.segment(0, 0, begin, end);
  const Target target = runtime.target();
  ObjectStarts starts = starts_of(target);
  for (const Address asked : {behind, begin + 16 * word, large + 64, behind, large}) {
    INFO(asked - begin);
    const auto holder = starts.holder(asked);
    REQUIRE(holder);
    CHECK(holder->begin == (asked == large + 64 ? large : asked));
  }
}
