// Native places of the awaits of an async method.
#include "core/describe/await_places.h"

#include <catch2/catch.hpp>

using namespace clr;

namespace {
constexpr MethodRegions regions{
    .hot_start = 0x1000, .hot_size = 0x80, .cold_start = 0x9000, .cold_size = 0x40};

AsyncMethod waits(std::vector<AwaitPoint> awaits) {
  return {.catch_handler = {}, .awaits = std::move(awaits)};
}
} // namespace

TEST_CASE("awaits lie where their IL offsets were compiled to", "[await_places]") {
  const IlMap map(
      {{0, il_prolog, 0}, {0x10, 0, 0}, {0x20, 0x30, 0}, {0x28, 0x40, 0}, {0x30, 0x50, 0}, {0x90, 0x70, 0}});
  const auto places = await_places(regions, map, waits({{0x30, 0x50, 0}, {0x60, 0x70, 0}}));
  REQUIRE(places.size() == 2);
  CHECK(places[0].yield == 0x1020);
  CHECK(places[0].resume == 0x1030);
  CHECK(places[1].yield == 0); // nothing was compiled between the two
  CHECK(places[1].resume == 0x9010);
}

TEST_CASE("optimised code stands for the IL before it", "[await_places]") {
  const IlMap map({{0, il_prolog, 0}, {0x20, 0x38, 0}, {0x30, 0x34, 0}, {0x40, 0x55, 0}});
  const auto places = await_places(regions, map, waits({{0x30, 0x50, 0}}));
  REQUIRE(places.size() == 1);
  CHECK(places[0].yield == 0x1030); // the smallest IL offset, wherever it lies
  CHECK(places[0].resume == 0x1040);
  CHECK(await_places(regions, IlMap(), waits({{0x30, 0x50, 0}})).front().yield == 0);
  CHECK(await_places(regions, map, waits({})).empty());
}
