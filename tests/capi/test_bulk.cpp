#include "capi/bulk.h"
#include "tests/capi/fake_inspection.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <limits>

using namespace clr;
using namespace clr::capi;
using namespace clr::test;

namespace {

constexpr std::uint64_t no_offset = std::numeric_limits<std::uint64_t>::max();

} // namespace

TEST_CASE("bulk: each address has its owner and offset, in the order of the question") {
  FakeInspection inspection;
  const std::vector<std::uint64_t> addresses{
      FakeInspection::walk_start + 8, FakeInspection::run, FakeInspection::native + 1,
      FakeInspection::run + 0x4f,     FakeInspection::run, FakeInspection::walk_start};
  const BulkAnswer answer = symbolize(inspection, addresses, false);
  const Json owners = Json::parse(answer.owners);
  REQUIRE(answer.owner.size() == addresses.size());
  CHECK(answer.offset == std::vector<std::uint64_t>{8, 0, no_offset, 0x4f, 0, 0});
  const auto name = [&](std::size_t i) { return owners.at(answer.owner[i])["method"]["full_name"]; };
  CHECK(name(0) == "Ns.Outer.Walk()");
  CHECK(name(1) == "Ns.Outer.Run(int)");
  CHECK(name(3) == "Ns.Outer.Run(int)");
  CHECK(owners.at(answer.owner[2])["symbol"] == "libnative.so`wait + 1");
  // One owner for a method, however often it is met; addresses and offsets are not part of it.
  CHECK(owners.size() == 3);
  CHECK(answer.owner[1] == answer.owner[3]);
  CHECK(answer.owner[1] == answer.owner[4]);
  CHECK_FALSE(owners.at(answer.owner[1]).contains("address"));
  CHECK_FALSE(owners.at(answer.owner[1])["code"].contains("offset"));
  CHECK(answer.places.empty());
}

TEST_CASE("bulk: places without symbols name no file") {
  FakeInspection inspection;
  const std::vector<std::uint64_t> addresses{FakeInspection::run, 0};
  const BulkAnswer answer = symbolize(inspection, addresses, true);
  REQUIRE(answer.places.size() == 2);
  for (const clr_place& place : answer.places) {
    CHECK(place.file == CLR_NO_FILE);
    CHECK(place.line == 0);
  }
  CHECK(answer.files == "[]");
  CHECK(answer.offset[1] == no_offset);
}

TEST_CASE("bulk: no addresses are an answer too") {
  FakeInspection inspection;
  const BulkAnswer answer = symbolize(inspection, {}, true);
  CHECK(answer.owner.empty());
  CHECK(answer.owners == "[]");
  CHECK(answer.files == "[]");
}
