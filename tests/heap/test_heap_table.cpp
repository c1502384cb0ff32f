#include "core/heap/heap_table.h"
#include "tests/heap/heap_runtime.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

TEST_CASE("all objects as columns, whatever thread finds them", "[heap]") {
  HeapRuntime runtime{{}};
  const Address small = runtime.type(24), array = runtime.type(24, 8);
  const Address old = runtime.fresh_region(), young = runtime.fresh_region(), large = runtime.fresh_region();
  const Address free = runtime.object(old, small), third = runtime.object(free, runtime.free_type, 40),
                end = runtime.object(third, array, 3);
  runtime.segment(0, 2, old, end);
  runtime.segment(0, 0, young, runtime.object(young, small));
  runtime.segment(0, 3, large, runtime.object(large, array, 100));
  const Target target = runtime.target();
  const HeapMap map = read_heap_map(target, HeapRuntime::module);
  HeapTypes types(target);
  for (const unsigned threads : {1u, 4u}) {
    const HeapTable table = make_heap_table(map, types, {}, threads);
    CHECK(table.addresses == std::vector<std::uint64_t>{old, free, third, young, large});
    CHECK(table.sizes == std::vector<std::uint64_t>{24, 64, 48, 24, 824});
    CHECK(table.free == std::vector<std::uint8_t>{0, 1, 0, 0, 0});
    CHECK(table.parts == std::vector<std::uint8_t>{2, 2, 2, 0, 3});
    std::vector<Address> tables;
    for (const std::uint32_t type : table.types) tables.push_back(types.at(type).method_table);
    CHECK(tables == std::vector<Address>{small, runtime.free_type, array, small, array});
    CHECK(table.gaps.empty());
  }
  unsigned calls = 0;
  const HeapTable none = make_heap_table(
      map, types, {.progress = [&](std::uint64_t, std::uint64_t) { return ++calls > 100; }}, 1);
  CHECK((none.interrupted ? none.count() == 0 : calls == 0));
}
