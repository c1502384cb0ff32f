// The memory map where LLDB does not tell it.
#include "extension/lldb/memory_map.h"

#include <catch2/catch.hpp>

#include <sstream>

using namespace clr::lldb_plugin;

namespace {
constexpr const char* text =
    "7fff79260000-7fff79262000 r-xs 00050000 00:01 463346                     /memfd:doublemapper (deleted)\n"
    "7fff79262000-7fff79264000 rw-s 00052000 00:01 463346                     /memfd:doublemapper (deleted)\n"
    "7fff79280000-7fff79290000 ---p 00000000 00:00 0 \n";

std::optional<MappedRegion> at(std::uint64_t address, const char* maps = text) {
  std::istringstream stream(maps);
  return region_in(stream, address);
}
} // namespace

TEST_CASE("memory map: the mapping that holds an address", "[memory_map]") {
  const auto code = at(0x7fff79261fff);
  REQUIRE(code);
  CHECK(code->begin == 0x7fff79260000);
  CHECK(code->end == 0x7fff79262000);
  CHECK((code->mapped && code->readable && !code->writable && code->executable));
  CHECK(code->name == "/memfd:doublemapper (deleted)");
  const auto data = at(0x7fff79262000);
  REQUIRE(data);
  CHECK((data->readable && data->writable && !data->executable));
  const auto reserved = at(0x7fff79280000);
  REQUIRE(reserved);
  CHECK((reserved->mapped && !reserved->readable && !reserved->writable && !reserved->executable));
  CHECK(reserved->name.empty());
}

TEST_CASE("memory map: room between mappings, and no map at all", "[memory_map]") {
  const auto between = at(0x7fff79270000);
  REQUIRE(between);
  CHECK(between->begin == 0x7fff79264000);
  CHECK(between->end == 0x7fff79280000);
  CHECK_FALSE(between->mapped);
  CHECK_FALSE(at(0x7fff79290000));
  CHECK_FALSE(at(1, "no map\n"));
  CHECK_FALSE(at(1, ""));
}

TEST_CASE("memory map: the mappings of a part", "[memory_map]") {
  const auto count = [](std::uint64_t begin, std::uint64_t end, const std::string& maps = text) {
    std::istringstream stream(maps);
    return regions_in(stream, begin, end).size();
  };
  CHECK(count(0, ~std::uint64_t{0}) == 3);
  CHECK(count(0x7fff79261fff, 0x7fff79262000) == 1);
  CHECK(count(0x7fff79262000, 0x7fff79280001) == 2);
  CHECK(count(0x7fff79264000, 0x7fff79280000) == 0);
  CHECK(count(0, ~std::uint64_t{0}, std::string("no map\n") + text) == 0);
  std::string many;
  for (std::size_t i = 0; i <= max_regions; ++i) many += "1000-2000 ---p 0 0:0 0 \n";
  CHECK(count(0, 0x3000, many) == max_regions);
  std::istringstream stream(text);
  const auto reserved = regions_in(stream, 0x7fff79280000, 0x7fff79280001);
  REQUIRE(reserved.size() == 1);
  CHECK(reserved[0].begin == 0x7fff79280000);
  CHECK_FALSE((reserved[0].readable || reserved[0].writable || reserved[0].executable));
}
