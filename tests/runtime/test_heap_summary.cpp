#include "core/runtime/heap_summary.h"

#include <catch2/catch.hpp>

using namespace clr;

namespace {

HeapSummary summary(std::vector<HeapSummaryType> types) {
  HeapSummary made{.all = {}, .free = {.objects = 3, .bytes = 96}};
  for (const HeapSummaryType& type : types) made.all += type.count;
  made.types = std::move(types);
  put_in_order(made.types);
  return made;
}

std::vector<std::string> names(const HeapDifference& found) {
  std::vector<std::string> all;
  for (const HeapChange& row : found.rows) all.push_back(row.name + " " + std::string(row.kind()));
  return all;
}

const HeapSummary before = summary({{"Gone", "a.dll", {2, 64}},
                                    {"Same", "a.dll", {5, 160}},
                                    {"Shop.Order", "a.dll", {10, 320}},
                                    {"Shop.Order", "b.dll", {1, 32}},
                                    {"byte[]", "c.dll", {4, 100'000}},
                                    {"Longer[]", "", {4, 400}}});
const HeapSummary after = summary({{"Same", "a.dll", {5, 160}},
                                   {"New", "a.dll", {1, 24}},
                                   {"Shop.Order", "a.dll", {1'000, 32'000}},
                                   {"Shop.Order", "b.dll", {1, 32}},
                                   {"byte[]", "c.dll", {3, 60'000}},
                                   {"Longer[]", "", {4, 800}}});

} // namespace

TEST_CASE("what grew between two summaries of a heap") {
  const HeapDifference found = compare(before, after);
  CHECK(names(found) == std::vector<std::string>{"Shop.Order grown", "Longer[] grown", "New new", "Gone gone",
                                                 "byte[] shrunk"});
  REQUIRE(found.rows.size() == 5);
  CHECK(found.rows[0].module == "a.dll");
  CHECK(found.rows[0].bytes() == 31'680);
  CHECK(found.rows[0].objects() == 990);
  CHECK(found.rows[1].objects() == 0);
  CHECK(found.rows[2].before.objects == 0);
  CHECK(found.rows[3].bytes() == -64);
  CHECK(found.rows[4].bytes() == -40'000);
  CHECK(found.types == 5);
  CHECK(found.before.objects == 26);
  CHECK(found.after.bytes == 93'016);
  CHECK(found.free_after.bytes == 96);
  CHECK(compare(after, after).rows.empty());
}

TEST_CASE("the order, the pattern and the limits of a comparison") {
  CHECK(names(compare(before, after, {.by_count = true})) ==
        std::vector<std::string>{"Shop.Order grown", "New new", "Longer[] grown", "byte[] shrunk",
                                 "Gone gone"});
  const HeapDifference some = compare(before, after, {.top = 2});
  CHECK(some.rows.size() == 2);
  CHECK(some.types == 5);
  CHECK(names(compare(before, after, {.glob = "*on*"})) ==
        std::vector<std::string>{"Longer[] grown", "Gone gone"});
  CHECK(names(compare(before, after, {.least_bytes = 401})) ==
        std::vector<std::string>{"Shop.Order grown", "byte[] shrunk"});
}

TEST_CASE("types of one name and one module are one") {
  std::vector<HeapSummaryType> types{
      {"B", "y", {1, 10}}, {"A", "x", {1, 1}}, {"B", "x", {2, 20}}, {"B", "y", {3, 30}}, {"A", "x", {1, 2}}};
  put_in_order(types);
  REQUIRE(types.size() == 3);
  CHECK(types[0].name == "A");
  CHECK(types[0].count.objects == 2);
  CHECK(types[0].count.bytes == 3);
  CHECK(types[1].module == "x");
  CHECK(types[2].count.objects == 4);
  CHECK(types[2].count.bytes == 40);
  types.clear();
  put_in_order(types);
  CHECK(types.empty());
}
