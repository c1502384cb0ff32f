// The table of known bodies: what a lookup by address finds in it.
#include "core/execution/body_table.h"

#include <catch2/catch.hpp>

#include <map>
#include <random>

using namespace clr;

namespace {

RangeSection section_at(Address begin) {
  return {
      .address = begin + 0x10, .begin = begin, .end = begin + 0x100'0000, .flags = RangeSection::code_heap};
}

KnownBody body_at(Address start, std::uint64_t size, Address method_desc) {
  return {.start = start, .method_desc = method_desc, .regions = {.hot_start = start, .hot_size = size}};
}

} // namespace

TEST_CASE("body table: every address of a body finds it, its neighbours do not") {
  BodyTable table;
  CHECK(table.find(0x1000) == nullptr);
  // Within a granule, over its border, over many, and more than slots are made for.
  const std::map<Address, std::uint64_t> bodies{
      {0x10'0010, 1}, {0x10'0040, 0x20}, {0x10'03f0, 0x20}, {0x10'0800, 0x2345}, {0x20'0000, 0x4'0000}};
  const RangeSection section = section_at(0x10'0000);
  for (const auto& [start, size] : bodies) table.add(body_at(start, size, start + 1), section);
  CHECK(table.size() == bodies.size());
  for (const auto& [start, size] : bodies) {
    INFO(start);
    for (const Address at : {start, start + size / 2, start + size - 1}) {
      const KnownBody* found = table.find(at);
      REQUIRE(found != nullptr);
      CHECK(found->start == start);
      const CodeBlock block = found->seen_from(at);
      CHECK(block.ip == at);
      CHECK(block.method_desc == start + 1);
      CHECK(block.section == section);
    }
    CHECK(table.find(start - 1) == nullptr);
    CHECK(table.find(start + size) == nullptr);
  }
}

TEST_CASE("body table: bodies of any order and number are found") {
  std::mt19937 random(7);
  std::vector<std::pair<Address, std::uint64_t>> bodies;
  for (Address at = 0x7f00'0000'0000; bodies.size() < 20'000;) {
    const std::uint64_t size = 1 + random() % (bodies.size() % 100 == 0 ? 200'000 : 700);
    bodies.emplace_back(at, size);
    at += size + random() % 40;
  }
  std::ranges::shuffle(bodies, random);
  BodyTable table;
  const RangeSection near = section_at(0x7f00'0000'0000), far = section_at(0x7f10'0000'0000);
  for (std::size_t i = 0; i < bodies.size(); ++i)
    table.add(body_at(bodies[i].first, bodies[i].second, i), i % 2 == 0 ? near : far);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < bodies.size(); ++i)
    for (const Address at : {bodies[i].first, bodies[i].first + bodies[i].second - 1}) {
      const KnownBody* found = table.find(at);
      wrong += found == nullptr || found->method_desc != i || *found->section != (i % 2 == 0 ? near : far);
    }
  CHECK(wrong == 0);
}

TEST_CASE("body table: the first answer of a stop remains") {
  BodyTable table;
  const RangeSection section = section_at(0x1'0000);
  table.add(body_at(0x1'1000, 0x100, 1), section);
  for (const auto& [start, size] : std::vector<std::pair<Address, std::uint64_t>>{
           {0x1'1000, 0x100}, {0x1'0ff0, 0x20}, {0x1'10ff, 0x10}, {0x1'1010, 0x10}, {0x1'0f00, 0x300}}) {
    table.add(body_at(start, size, 2), section);
    CHECK(table.find(0x1'1010)->method_desc == 1);
    CHECK(table.find(0x1'0ff8) == nullptr);
  }
  // Another, over more granules than slots are made for.
  table.add(body_at(0x1'2000, 0x10'0000, 3), section);
  table.add(body_at(0x1'3000, 0x100, 4), section);
  CHECK(table.find(0x1'3000)->method_desc == 3);
}

TEST_CASE("body table: hot and cold parts lead to one body, and to the function of each address") {
  BodyTable table;
  KnownBody body{
      .start = 0x1000,
      .method_desc = 5,
      .method_index = 3,
      .kind = CodeKind::ready_to_run,
      .functions_read = true,
      .functions = {{0x1000, 3}, {0x1080, 4}, {0x9000, 17}},
      .regions = {.hot_start = 0x1000, .hot_size = 0x100, .cold_start = 0x9000, .cold_size = 0x40}};
  table.add(std::move(body), section_at(0x1000));
  CHECK(table.find(0x10ff) == table.find(0x9000));
  CHECK(table.find(0x107f)->seen_from(0x107f).function_index == 3);
  CHECK(table.find(0x1080)->seen_from(0x1080).function_index == 4);
  CHECK(table.find(0x903f)->seen_from(0x903f).function_index == 17);
  CHECK(table.find(0x903f)->seen_from(0x903f).method_index == 3);
  CHECK(table.find(0x9040) == nullptr);
}

TEST_CASE("body table: the body that was added last is known, also one that no address leads to") {
  BodyTable table;
  CHECK(table.latest() == nullptr);
  const RangeSection section = section_at(0x1'0000);
  const KnownBody& first = table.add(body_at(0x1'1000, 0x100, 1), section);
  CHECK(table.latest() == &first);
  const KnownBody& other = table.add(body_at(0x1'1010, 0x10, 2), section);
  CHECK(table.latest() == &other);
  CHECK(table.latest()->method_desc == 2);
  CHECK(table.find(0x1'1010) == &first);
}

TEST_CASE("body table: bodies at the first and the last addresses are found") {
  BodyTable table;
  const RangeSection section = section_at(0);
  table.add(body_at(0, 0x500, 1), section);
  table.add(body_at(~Address{0} - 0x500, 0x500, 2), section);
  CHECK(table.find(0)->method_desc == 1);
  CHECK(table.find(0x4ff)->method_desc == 1);
  CHECK(table.find(0x500) == nullptr);
  CHECK(table.find(~Address{0} - 1)->method_desc == 2);
  CHECK(table.find(~Address{0}) == nullptr);
}

TEST_CASE("body table: a part that would wrap around is not entered") {
  BodyTable table;
  table.add(body_at(~Address{0} - 8, 0x100, 1), section_at(0));
  table.add(body_at(0x1000, 0, 2), section_at(0));
  CHECK(table.find(~Address{0}) == nullptr);
  CHECK(table.find(0x1000) == nullptr);
  CHECK(table.size() == 0);
}

TEST_CASE("body table: a body that no address leads to is kept until the next one") {
  BodyTable table;
  const RangeSection first = section_at(0x1'0000);
  table.add(body_at(0x1'1000, 0x100, 1), first);
  for (unsigned i = 0; i < 1000; ++i) {
    // Sections that differ, at one place.
    RangeSection section = first;
    section.heap_list = i;
    KnownBody& again = table.add(body_at(0x1'1010, 0x10, 2 + i), section);
    CHECK(table.latest() == &again);
    const KnownBody& filled = table.set_functions(again, {{0x1'1010, 0}, {0x1'1018, 1}});
    CHECK(filled.functions.size() == 2);
    const CodeBlock block = table.latest()->seen_from(0x1'1014);
    CHECK(block.method_desc == 2 + i);
    CHECK(block.section == section);
  }
  CHECK(table.size() == 1);
  CHECK(table.function_count() == 0);
  CHECK(table.find(0x1'1010)->method_desc == 1);
  // Of which one part is entered is entered.
  KnownBody half = body_at(0x1'1020, 0x10, 5000);
  half.regions.cold_start = 0x1'2000;
  half.regions.cold_size = 0x10;
  table.add(half, first);
  CHECK(table.size() == 2);
  CHECK(table.find(0x1'2000)->method_desc == 5000);
  for (unsigned i = 0; i < 200; ++i) table.add(body_at(0x2'0000 + i * 0x10, 0x10, i), first);
  CHECK(table.size() == 202);
  for (unsigned i = 0; i < 200; ++i) CHECK(table.find(0x2'0000 + i * 0x10)->method_desc == i);
}

TEST_CASE("body table: so many functions are kept, whether they come with their bodies or later") {
  constexpr std::size_t each = 60'000, fitting = BodyTable::max_functions / each;
  for (const bool later : {false, true}) {
    BodyTable table;
    const RangeSection section = section_at(0x1'0000);
    for (std::size_t i = 0; i < 2 * fitting + 1; ++i) {
      const Address start = 0x1'0000 + i * 0x1000;
      KnownBody body = body_at(start, 0x1000, i);
      std::vector<KnownBody::Function> functions(each, {start, 7});
      if (!later) body.functions = functions;
      KnownBody* kept = &table.add(std::move(body), section);
      if (later) kept = &table.set_functions(*kept, std::move(functions));
      REQUIRE(table.function_count() <= BodyTable::max_functions);
      REQUIRE(table.function_count() == (i % fitting + 1) * each);
      REQUIRE(table.find(start) == kept);
      REQUIRE(table.latest() == kept);
      REQUIRE(kept->functions.size() == each);
      REQUIRE(kept->seen_from(start).section == section);
    }
    CHECK(table.size() == 1);
    CHECK(table.find(0x1'0000) == nullptr); // forgotten
  }
}

TEST_CASE("body table: it forgets bodies that fill too many slots") {
  constexpr std::uint64_t size = BodyTable::max_granules * 1024;
  BodyTable table;
  const RangeSection section = section_at(0);
  std::size_t most = 0;
  for (std::size_t i = 0; i < BodyTable::max_slots / BodyTable::max_granules + 10; ++i) {
    table.add(body_at(i * size, size, i), section);
    most = std::max(most, table.size());
  }
  CHECK(most == BodyTable::max_slots / BodyTable::max_granules);
  CHECK(table.size() == 10);
}
