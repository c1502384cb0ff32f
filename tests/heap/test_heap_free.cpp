#include "core/heap/heap_free.h"
#include "tests/heap/heap_runtime.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

HeapFreeSpace count(HeapRuntime& runtime, std::size_t most, unsigned threads = 1) {
  const Target target = runtime.target();
  const HeapMap map = read_heap_map(target, HeapRuntime::module);
  HeapTypes types(target);
  return count_free_space(map, types, most, {}, threads);
}

} // namespace

TEST_CASE("free memory is counted by part and size, and the largest blocks with what follows them") {
  HeapRuntime runtime{{}};
  const Address small = runtime.type(24), pinned = runtime.type(40);
  const Address old = runtime.fresh_region(), young = runtime.fresh_region();
  // 24 + 39, 24 + 40, 24 + 1000 bytes: on both sides of the bounds of classes.
  Address at = runtime.object(old, small);
  const Address first = at;
  at = runtime.object(at, runtime.free_type, 32); // 56
  at = runtime.object(at, small);
  const Address second = at;
  at = runtime.object(at, runtime.free_type, 40); // 64
  const Address behind_second = at;
  at = runtime.object(at, pinned);
  const Address third = at;
  at = runtime.object(at, runtime.free_type, 1000); // 1024, and nothing behind it
  runtime.segment(0, 2, old, at);
  Address in_young = runtime.object(young, runtime.free_type, 0); // 24
  const Address free_after_free = in_young;
  in_young = runtime.object(in_young, runtime.free_type, 8); // 32
  const Address behind_free = in_young;
  in_young = runtime.object(in_young, small);
  runtime.segment(0, 1, young, in_young);

  for (const unsigned threads : {1u, 3u}) {
    CAPTURE(threads);
    const HeapFreeSpace found = count(runtime, 10, threads);
    const FreePart& gen2 = found.parts[static_cast<std::size_t>(HeapPart::gen2)];
    const FreePart& gen1 = found.parts[static_cast<std::size_t>(HeapPart::gen1)];
    CHECK(gen2.bytes == at - old);
    CHECK(gen2.free.objects == 3);
    CHECK(gen2.free.bytes == 56 + 64 + 1024);
    CHECK(gen2.classes[0].objects == 1);
    CHECK(gen2.classes[0].bytes == 56);
    CHECK(gen2.classes[1].bytes == 64);
    CHECK(gen2.classes[2].objects == 0);
    CHECK(gen2.classes[3].bytes == 1024);
    CHECK(gen1.free.objects == 2);
    CHECK(gen1.classes[0].bytes == 56);
    CHECK(found.parts[static_cast<std::size_t>(HeapPart::loh)].bytes == 0);
    REQUIRE(found.largest.size() == 5);
    CHECK(found.largest[0].address == third);
    CHECK(found.largest[0].next == 0);
    CHECK(found.largest[1].address == second);
    CHECK(found.largest[1].next == behind_second);
    CHECK(found.largest[1].next_type == pinned);
    CHECK(found.largest[2].address == first);
    CHECK(found.largest[2].next_type == small);
    CHECK(found.largest[3].address == free_after_free);
    CHECK(found.largest[3].next == behind_free);
    CHECK(found.largest[3].part == HeapPart::gen1);
    CHECK(found.largest[4].next == 0); // another free block is behind it
    CHECK(found.gaps.empty());
  }
  const HeapFreeSpace few = count(runtime, 2);
  REQUIRE(few.largest.size() == 2);
  CHECK(few.largest[0].bytes == 1024);
  CHECK(few.largest[1].bytes == 64);
  CHECK(count(runtime, 0).largest.empty());
}
