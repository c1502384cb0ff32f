// What is queued for the thread pool, grouped by names.
#include "core/runtime/pool_report.h"

#include <catch2/catch.hpp>

using namespace clr;

TEST_CASE("items of the pool are named once for each object", "[pool_report]") {
  std::vector<PoolItem> items;
  for (int i = 0; i < 1'000; ++i) {
    items.push_back({PoolQueue::local, 0x30});
    items.push_back({PoolQueue::global, 0x10});
    items.push_back({PoolQueue::global, 0x20});
  }
  items.push_back({PoolQueue::local, 0x10});
  std::vector<Address> asked;
  const std::vector<PoolGroup> groups = group_items(items, [&](Address object) -> SharedText {
    asked.push_back(object);
    if (object == 0x20) throw Error(ErrorKind::corrupt, "no item");
    return std::string("Run()"); // equal texts are one group
  });
  CHECK(asked == std::vector<Address>{0x10, 0x20, 0x30});
  REQUIRE(groups.size() == 3);
  CHECK(groups[0].queue == PoolQueue::local);
  CHECK(groups[0].count == 1'001);
  CHECK(groups[1].queue == PoolQueue::global);
  CHECK(groups[1].method == "<no item>");
  CHECK(groups[1].count == 1'000);
  CHECK(groups[2].method == "Run()");
  CHECK(groups[2].count == 1'000);
}

TEST_CASE("behind many items that cannot be read no further ones are looked at", "[pool_report]") {
  std::vector<PoolItem> items;
  for (std::size_t i = 0; i < max_unnamed_items + 500; ++i) items.push_back({PoolQueue::global, 8 + 8 * i});
  std::size_t asked = 0;
  const std::vector<PoolGroup> groups = group_items(items, [&](Address) -> SharedText {
    ++asked;
    throw Error(ErrorKind::corrupt, asked == 1 ? "the first" : "another");
  });
  CHECK(asked == max_unnamed_items);
  REQUIRE(groups.size() == 3);
  CHECK(groups[0].count == max_unnamed_items - 1);
  CHECK(groups[1].method == "<not looked at: too many other items cannot be read>");
  CHECK(groups[1].count == 500);
  CHECK(groups[2].method == "<the first>");
}
