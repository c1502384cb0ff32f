#include "core/publish/known_bodies.h"

#include <catch2/catch.hpp>

#include <map>
#include <random>

using namespace clr;

namespace {

constexpr Address low = 0x1000, high = 0x8000;

KnownBodies::Body body_at(Address start, Address method_desc = 1) {
  return {.start = start, .method_desc = method_desc};
}

} // namespace

TEST_CASE("known bodies: found by heap and start, in any order") {
  KnownBodies bodies;
  for (const Address start : {0x1040u, 0x1000u, 0x1080u, 0x1060u}) bodies.add(low, body_at(start, start + 1));
  bodies.add(high, body_at(0x8000));
  CHECK(bodies.size() == 5);
  CHECK(bodies.size(low) == 4);
  CHECK(bodies.size(0x2000) == 0);
  for (const Address start : {0x1080u, 0x1000u, 0x1040u, 0x1060u, 0x1080u, 0x1080u}) {
    REQUIRE(bodies.find(low, start) != nullptr);
    CHECK(bodies.find(low, start)->method_desc == start + 1);
    CHECK(bodies.find(start)->start == start);
  }
  CHECK(bodies.find(low, 0x1001) == nullptr);
  CHECK(bodies.find(high, 0x1000) == nullptr);
  CHECK(bodies.find(0x2000, 0x1000) == nullptr);
  CHECK(bodies.find(0xfff) == nullptr);
  CHECK(bodies.find(0x9000) == nullptr);
}

TEST_CASE("known bodies: another at the same place takes it") {
  KnownBodies bodies;
  for (const Address start : {0x1000u, 0x1020u, 0x1040u}) bodies.add(low, body_at(start));
  bodies.add(low, body_at(0x1020, 7));
  bodies.add(low, body_at(0x1040, 8));
  CHECK(bodies.size() == 3);
  CHECK(bodies.find(low, 0x1020)->method_desc == 7);
  CHECK(bodies.find(low, 0x1040)->method_desc == 8);
}

TEST_CASE("known bodies: a start that lies in a later section is found in the one that has it") {
  KnownBodies bodies;
  bodies.add(low, body_at(0x8010));
  bodies.add(high, body_at(0x8020));
  REQUIRE(bodies.find(0x8010) != nullptr);
  CHECK(bodies.find(0x8010)->start == 0x8010);
}

TEST_CASE("known bodies: heaps that lie about their ends are found without the search of all") {
  // Every second body lies behind all heaps. Heaps come from both sides.
  constexpr Address count = 40'000, far = 0x1000'0000;
  KnownBodies bodies;
  const auto heap_of = [](Address i) { return 0x1000 + 0x100 * i; };
  for (Address i = 0; i < count; ++i) {
    const Address heap = heap_of(i % 2 == 0 ? i : count - i);
    bodies.add(heap, body_at(heap + 0x10));
    bodies.add(heap, body_at(far + heap));
  }
  CHECK(bodies.size() == 2 * count);
  std::size_t found = 0, absent = 0;
  for (Address i = 0; i < count; ++i) {
    const Address heap = heap_of(i % 2 == 0 ? i : count - i);
    for (const Address start : {heap + 0x10, far + heap}) {
      const KnownBodies::Body* const body = bodies.find(start);
      found += body != nullptr && body->start == start ? 1 : 0;
    }
    for (const Address start : {heap + 0x20, far + heap + 1}) absent += bodies.find(start) == nullptr ? 1 : 0;
  }
  CHECK(found == 2 * count);
  CHECK(absent == 2 * count);
  bodies.remove(heap_of(2), far + heap_of(2));
  bodies.remove_if(
      [&](Address heap, const KnownBodies::Body& body) { return heap == heap_of(4) && body.start >= far; });
  CHECK(bodies.find(far + heap_of(2)) == nullptr);
  CHECK(bodies.find(far + heap_of(4)) == nullptr);
  CHECK(bodies.find(heap_of(4) + 0x10) != nullptr);
}

TEST_CASE("known bodies: of two heaps with one start the nearer one has it") {
  KnownBodies bodies;
  bodies.add(0x1000, body_at(0x9000, 1));
  bodies.add(0x3000, body_at(0x9000, 3));
  bodies.add(0x2000, body_at(0x9000, 2));
  CHECK(bodies.find(0x9000)->method_desc == 3);
  bodies.add(0x8000, body_at(0x8100, 8)); // nearer, but without that start
  CHECK(bodies.find(0x9000)->method_desc == 3);
  bodies.remove(0x3000, 0x9000);
  CHECK(bodies.find(0x9000)->method_desc == 2);
  bodies.add(0xa000, body_at(0x9000, 10)); // of a heap that begins behind it
  CHECK(bodies.find(0x9000)->method_desc == 2);
  bodies.remove(0x2000, 0x9000);
  bodies.remove(0x1000, 0x9000);
  CHECK(bodies.find(0x9000) == nullptr);
}

TEST_CASE("known bodies: what is removed is gone, heaps with it") {
  KnownBodies bodies;
  for (const Address start : {0x1000u, 0x1020u, 0x1040u}) bodies.add(low, body_at(start));
  bodies.add(high, body_at(0x8000));
  const auto is_high = [](Address heap) { return heap == high; };
  CHECK(bodies.any_heap(is_high));
  CHECK(bodies.find(low, 0x1000) != nullptr); // the next one in order is removed
  bodies.remove(low, 0x1020);
  bodies.remove(low, 0x1020);
  bodies.remove(0x2000, 0x1000);
  CHECK(bodies.find(low, 0x1020) == nullptr);
  CHECK(bodies.find(low, 0x1040)->start == 0x1040);
  CHECK(bodies.size() == 3);
  bodies.remove(high, 0x8000);
  CHECK_FALSE(bodies.any_heap(is_high));
  bodies.remove_if(
      [](Address heap, const KnownBodies::Body& body) { return heap == low && body.start > 0x1000; });
  CHECK(bodies.size() == 1);
  std::size_t visited = 0;
  bodies.for_each([&](Address heap, KnownBodies::Body& body) {
    CHECK(heap == low);
    CHECK(body.start == 0x1000);
    ++visited;
  });
  CHECK(visited == 1);
}

TEST_CASE("known bodies: as a map would have them") {
  std::mt19937 random(5);
  KnownBodies bodies;
  std::map<Address, Address> expected;
  for (unsigned i = 0; i < 5'000; ++i) {
    const Address start = low + random() % 512 * 16;
    const Address heap = start < 0x2000 ? low : 0x2000;
    if (random() % 3 == 0) {
      bodies.remove(heap, start);
      expected.erase(start);
    } else {
      bodies.add(heap, body_at(start, i));
      expected[start] = i;
    }
    const Address asked = low + random() % 512 * 16;
    const auto known = expected.find(asked);
    const KnownBodies::Body* const found = bodies.find(asked);
    REQUIRE((found != nullptr) == (known != expected.end()));
    if (found != nullptr) REQUIRE(found->method_desc == known->second);
    REQUIRE(bodies.size() == expected.size());
  }
}
