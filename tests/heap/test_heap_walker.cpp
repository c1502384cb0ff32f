// The objects of the heap: sizes, memory that was given to threads, memory that is missing or makes no sense.
#include "core/heap/heap_index.h"
#include "core/heap/heap_statistics.h"
#include "tests/heap/heap_runtime.h"

#include <catch2/catch.hpp>

#include <fmt/format.h>

using namespace clr;
using namespace clr::test;

namespace {

struct Walked {
  std::vector<std::string> objects; // "address of type: size", relative to the region
  std::vector<HeapGap> gaps;
};

// All objects of the one range that holds `begin`.
Walked walk(HeapRuntime& runtime, Address begin) {
  const Target target = runtime.target();
  const HeapMap map = read_heap_map(target, HeapRuntime::module);
  HeapTypes types(target);
  HeapWalker walker(map, types);
  Walked walked;
  const HeapRange* range = map.find(begin);
  REQUIRE(range != nullptr);
  CHECK(walker.walk(
      *range,
      [&](std::span<const HeapObject> objects) {
        for (const HeapObject& object : objects)
          walked.objects.push_back(fmt::format("{} {:x} {}", (object.address - begin) / runtime.word,
                                               types.at(object.type).method_table, object.size));
        return true;
      },
      walked.gaps));
  return walked;
}

std::string text(const HeapRuntime& runtime, unsigned at, Address type, unsigned words) {
  return fmt::format("{} {:x} {}", at, type, words * runtime.word);
}

using Texts = std::vector<std::string>;

} // namespace

TEST_CASE("objects follow each other by their sizes", "[heap]") {
  for (const Platform platform : all_platforms()) {
    INFO(to_string(platform));
    HeapRuntime runtime(platform);
    const unsigned word = runtime.word;
    const Address begin = runtime.fresh_region();
    const Address small = runtime.type(2 * word), large = runtime.type(7 * word),
                  text_type = runtime.type(3 * word - 2, 2), array = runtime.type(3 * word, word);
    Address at = runtime.object(begin, small);            // 3 words: no object is smaller
    at = runtime.object(at, large);                       // 7
    at = runtime.object(at, text_type, 1);                // 3: 22 and 2 bytes, or 10 and 2
    at = runtime.object(at, text_type, 2);                // 4
    at = runtime.object(at, runtime.free_type, 4 * word); // 7
    at = runtime.object(at, array, 100);                  // 103
    runtime.set_word(begin + 3 * word, large | 1);        // a mark of the collector
    runtime.segment(0, 0, begin, at);
    const Walked walked = walk(runtime, begin);
    CHECK(walked.objects == Texts{text(runtime, 0, small, 3), text(runtime, 3, large, 7),
                                  text(runtime, 10, text_type, 3), text(runtime, 13, text_type, 4),
                                  text(runtime, 17, runtime.free_type, 7), text(runtime, 24, array, 103)});
    CHECK(walked.gaps.empty());
  }
}

TEST_CASE("memory that was given to a thread is passed over, with the smallest object behind it", "[heap]") {
  for (const Platform platform : all_platforms()) {
    INFO(to_string(platform));
    HeapRuntime runtime(platform);
    const unsigned word = runtime.word;
    const Address begin = runtime.fresh_region();
    const Address type = runtime.type(4 * word);
    runtime.object(begin, type);
    runtime.thread_context(begin + 4 * word, begin + 10 * word);
    runtime.object(begin + 13 * word, type);
    runtime.context(0, 0, begin + 17 * word, begin + 17 * word); // exhausted
    runtime.object(begin + 20 * word, type);
    runtime.thread_context(begin + 24 * word, begin + 27 * word); // at the end
    runtime.segment(0, 0, begin, begin + 30 * word);
    const Walked walked = walk(runtime, begin);
    CHECK(walked.objects ==
          Texts{text(runtime, 0, type, 4), text(runtime, 13, type, 4), text(runtime, 20, type, 4)});
    CHECK(walked.gaps.empty());
  }
}

TEST_CASE("a segment may end where the address space does", "[heap]") {
  HeapRuntime runtime({});
  const Address begin = ~Address{0} - 0xffff;
  const Address end = ~Address{0} - 7;
  const Address type = runtime.type(32);
  HeapMap map{.state = {}};
  map.ranges.push_back({.begin = begin, .end = end});
  map.contexts.push_back({begin + 64, end - 8}); // the smallest object behind it would not fit
  runtime.memory.at(begin).fill(64);
  runtime.object(begin, type);
  const Target target = runtime.target();
  const auto gaps_of = [&] {
    HeapTypes types(target);
    std::vector<HeapGap> gaps;
    CHECK(HeapWalker(map, types)
              .walk(
                  map.ranges[0], [](auto) { return true; }, gaps));
    return gaps;
  };
  REQUIRE(gaps_of().size() == 1); // behind the first object nothing makes sense
  CHECK(gaps_of()[0].bytes == end - begin - 32);
  runtime.object(begin + 32, type);
  CHECK(gaps_of().empty());
}

TEST_CASE("an object that makes no sense ends the walk up to the next provable object", "[heap]") {
  HeapRuntime runtime({});
  const Address begin = runtime.fresh_region();
  const Address type = runtime.type(32), array = runtime.type(24, 8);
  const auto gap_of = [&](const Walked& walked) {
    REQUIRE(walked.gaps.size() == 1);
    CHECK_FALSE(walked.gaps[0].missing);
    return fmt::format("{} {} {}", (walked.gaps[0].address - begin) / 8, walked.gaps[0].bytes / 8,
                       walked.gaps[0].why);
  };
  runtime.object(begin, type);
  runtime.object(begin + 20 * 8, type);
  const Address segment = runtime.segment(0, 0, begin, begin + 24 * 8);
  SECTION("no type") {
    CHECK(gap_of(walk(runtime, begin)) == "4 20 no object begins there");
  }
  SECTION("the address of nothing") {
    runtime.set_word(begin + 32, 0x10);
    CHECK(gap_of(walk(runtime, begin)) == "4 20 the object's type cannot be read");
  }
  SECTION("a type without a size") {
    runtime.set_word(begin + 32, runtime.type(8));
    CHECK(gap_of(walk(runtime, begin)) == "4 20 the object's type has an impossible size");
    runtime.set_word(begin + 32, runtime.type(HeapTypes::max_base_size + 8));
    CHECK(gap_of(walk(runtime, begin)) == "4 20 the object's type has an impossible size");
    runtime.set_word(begin + 32, runtime.type(36));
    CHECK(gap_of(walk(runtime, begin)) == "4 20 the object's type has an impossible size");
  }
  SECTION("too many elements") {
    runtime.object(begin + 32, array, 0xffff'ffff);
    CHECK(gap_of(walk(runtime, begin)) == "4 20 the object would reach beyond its segment");
  }
  SECTION("a segment that ends within an object") {
    runtime.set_end(segment, begin + 5 * 8);
    CHECK(gap_of(walk(runtime, begin)) == "4 1 the memory ends within an object");
  }
  SECTION("behind memory of a thread objects begin again") {
    runtime.thread_context(begin + 12 * 8, begin + 17 * 8);
    Walked walked = walk(runtime, begin);
    CHECK(gap_of(walked) == "4 16 no object begins there");
    CHECK(walked.objects == Texts{text(runtime, 0, type, 4), text(runtime, 20, type, 4)});
    runtime.object(begin + 32, array, 10); // reaches into it
    walked = walk(runtime, begin);
    CHECK(gap_of(walked) == "4 16 the object would reach into memory that was given to a thread");
    CHECK(walked.objects == Texts{text(runtime, 0, type, 4), text(runtime, 20, type, 4)});
  }
}

TEST_CASE("in the middle of a collection the walk goes on at the next known type", "[heap]") {
  HeapRuntime runtime({});
  const Address begin = runtime.fresh_region();
  const Address type = runtime.type(32);
  runtime.object(begin, type);
  runtime.set_word(begin + 32, 0x77); // a note of the collector
  runtime.object(begin + 56, type);
  runtime.segment(0, 0, begin, begin + 88);
  CHECK(walk(runtime, begin).objects == Texts{text(runtime, 0, type, 4)});
  runtime.set_variable(24, 1);
  const Walked walked = walk(runtime, begin);
  CHECK(walked.objects == Texts{text(runtime, 0, type, 4), text(runtime, 7, type, 4)});
  REQUIRE(walked.gaps.size() == 1);
  CHECK(walked.gaps[0].address == begin + 32);
  CHECK(walked.gaps[0].bytes == 24);
}

TEST_CASE("memory that is missing is told apart from objects that make no sense", "[heap]") {
  for (const Platform platform : all_platforms()) {
    INFO(to_string(platform));
    HeapRuntime runtime(platform);
    const unsigned word = runtime.word;
    const Address begin = runtime.fresh_region();
    const Address type = runtime.type(4 * word), array = runtime.type(3 * word, 1);
    Address at = runtime.object(begin, array, 5000 * word); // its data is missing, its size is known
    at = runtime.object(at, type);
    const Address last = runtime.object(at, type);
    runtime.segment(0, 0, begin, last + 40 * word);
    runtime.memory.erase(begin + 100 * word, 4000 * word);
    runtime.memory.erase(last, 20 * word);
    const Walked walked = walk(runtime, begin);
    CHECK(walked.objects.size() == 3);
    REQUIRE(walked.gaps.size() == 1);
    CHECK(walked.gaps[0].missing);
    CHECK(walked.gaps[0].address == last);
    CHECK(walked.gaps[0].bytes == 40 * word);
  }
}

TEST_CASE("objects are counted by type and part, by any number of threads", "[heap]") {
  for (const Platform platform : all_platforms()) {
    INFO(to_string(platform));
    HeapRuntime runtime(platform);
    const unsigned word = runtime.word;
    const Address type = runtime.type(4 * word), array = runtime.type(3 * word, word);
    for (unsigned i = 0; i < 12; ++i) {
      const Address begin = runtime.fresh_region();
      Address at = begin;
      // Large and pinned objects are aligned to 8 bytes, also where a word has 4.
      for (unsigned n = 0; n < 100; ++n)
        at = runtime.object(at, n % 4 == 3 ? array : type, 2, i % 5 >= 3 ? 8 : word);
      at = runtime.object(at, runtime.free_type, 10 * word * (i + 1), i % 5 >= 3 ? 8 : word);
      runtime.segment(0, i % 5, begin, at);
    }
    const Target target = runtime.target();
    const HeapMap map = read_heap_map(target, HeapRuntime::module);
    for (const unsigned threads : {1u, 4u, 40u}) {
      HeapTypes types(target);
      const HeapStatistics counted = count_heap(map, types, {}, threads);
      CHECK_FALSE(counted.interrupted);
      CHECK(counted.gaps.empty());
      REQUIRE(counted.types.size() == 2);
      const bool first = counted.types[0].method_table == type;
      const HeapTypeCount& plain = counted.types[first ? 0 : 1];
      const HeapTypeCount& arrays = counted.types[first ? 1 : 0];
      CHECK(plain.all().objects == 900);
      CHECK(plain.all().bytes == 900 * 4 * word);
      CHECK(arrays.all().objects == 300);
      CHECK(arrays.all().bytes == 200 * 5 * word + 100 * (word == 8 ? 40 : 24));
      CHECK(arrays.parts[static_cast<std::size_t>(HeapPart::gen1)].objects == 75);
      CHECK(arrays.parts[static_cast<std::size_t>(HeapPart::loh)].objects == 50);
      CHECK(arrays.parts[static_cast<std::size_t>(HeapPart::frozen)].objects == 0);
      REQUIRE(counted.ranges.size() == 12);
      CHECK(counted.ranges[0].live.objects == 100);
      CHECK(counted.ranges[11].free.objects == 1);
      CHECK(counted.ranges[11].free.bytes == (3 + 120) * word);
      CHECK(counted.ranges[11].largest_free == (3 + 120) * word);
    }
  }
}

TEST_CASE("several works share one walk, and one that fails does not stop the others", "[heap]") {
  HeapRuntime runtime({});
  const Address type = runtime.type(32);
  for (unsigned i = 0; i < 5; ++i) {
    const Address begin = runtime.fresh_region();
    Address at = begin;
    for (unsigned n = 0; n < 50; ++n) at = runtime.object(at, type);
    runtime.segment(0, i % 3, begin, at);
  }
  const Target target = runtime.target();
  const HeapMap map = read_heap_map(target, HeapRuntime::module);
  struct Failing final : HeapWork {
    struct Sink final : HeapSink {
      void begin(std::size_t) override {}
      void add(std::span<const HeapObject>) override { throw_corrupt(0x1234, "what this work looks for"); }
    };
    std::unique_ptr<HeapSink> sink() override { return std::make_unique<Sink>(); }
    void end(std::span<const std::unique_ptr<HeapSink>>, const HeapWalkResult&) override { ended = true; }
    bool ended = false;
  };
  for (const unsigned threads : {1u, 3u}) {
    HeapTypes types(target);
    Failing failing;
    HeapCounting counting(map, types);
    HeapIndexing indexing(map, types);
    HeapWork* const works[] = {&failing, &counting, &indexing};
    CHECK_FALSE(walk_heap(map, types, works, {}, threads).interrupted);
    CHECK(failing.failure);
    CHECK_FALSE(failing.ended);
    CHECK_FALSE(counting.failure);
    CHECK_FALSE(indexing.failure);
    const HeapStatistics counted = counting.take();
    REQUIRE(counted.types.size() == 1);
    CHECK(counted.types[0].all().objects == 250);
    const HeapIndex index = indexing.take();
    CHECK(index.count() == 250);
    HeapTypes own(target);
    const HeapIndex alone(map, own);
    for (std::uint32_t i = 0; i < 250; ++i) CHECK(index.address(i) == alone.address(i));
  }
}

TEST_CASE("a count can be interrupted, and tells how far it is", "[heap]") {
  HeapRuntime runtime({});
  const Address type = runtime.type(32);
  for (unsigned i = 0; i < 3; ++i) {
    const Address begin = runtime.fresh_region();
    runtime.segment(0, 0, begin, runtime.object(begin, type));
  }
  const Target target = runtime.target();
  const HeapMap map = read_heap_map(target, HeapRuntime::module);
  HeapTypes types(target);
  std::vector<std::uint64_t> told;
  const HeapWalkOptions options{.progress = [&](std::uint64_t done, std::uint64_t of) {
    CHECK(of == 96);
    told.push_back(done);
    return told.size() < 2;
  }};
  const HeapStatistics counted = count_heap(map, types, options, 1);
  CHECK(counted.interrupted);
  CHECK(told == std::vector<std::uint64_t>{32, 64});
  REQUIRE(counted.types.size() == 1);
  CHECK(counted.types[0].all().objects == 2);
}

TEST_CASE("types are numbered once each, and checked", "[heap]") {
  HeapRuntime runtime({});
  const Target target = runtime.target();
  HeapTypes types(target);
  const char* why = nullptr;
  const Address type = runtime.type(32);
  CHECK(types.find(type, why) == 0u);
  CHECK(types.find(type, why) == 0u);
  CHECK(types.known(type) == 0u);
  CHECK_FALSE(types.known(type + 8));
  CHECK_FALSE(types.find(type + 3, why));
  CHECK(std::string(why) == "no type can be at an odd address");
  CHECK(types.count() == 1);
  CHECK(types.at(0).base_size == 32);
}
