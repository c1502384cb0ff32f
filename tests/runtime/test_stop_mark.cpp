// Two stops of one process, compared.
#include "core/runtime/stop_mark.h"

#include <catch2/catch.hpp>

using namespace clr;

namespace {

using Use = ThreadMark::Use;
using Finding = StopChange::Finding;

StopMark stop(std::vector<ThreadMark> threads, std::vector<ChainMark> chains = {},
              std::vector<std::pair<Address, HeapPart>> ranges = {{0x1000, HeapPart::gen2}}) {
  return {.threads = std::move(threads), .chains = std::move(chains), .ranges = std::move(ranges)};
}

} // namespace

TEST_CASE("a thread that stands where it stood has not moved", "[stop_mark]") {
  const StopMark before = stop({{1, 10, Use::blocked}, {2, 20, Use::running}, {3, 30, Use::other}});
  const StopChange same = compare(before, before);
  CHECK(same.finding == Finding::hang);
  CHECK(same.blocked.stood == 1);
  CHECK(same.running.stood == 1);
  CHECK(same.outside.all() == 0);
  const StopChange other = compare(before, stop({{1, 11, Use::running}, {2, 20, Use::running}}));
  CHECK(other.finding == Finding::wait);
  CHECK(other.blocked.moved == 1);
  CHECK(compare(before, stop({{2, 20, Use::running}})).blocked.moved == 1); // it has ended
}

TEST_CASE("who waits for the outside is no hang; who does not wait is nothing", "[stop_mark]") {
  const StopMark outside = stop({{1, 10, Use::outside}});
  CHECK(compare(outside, outside).finding == Finding::wait);
  const StopMark running = stop({{1, 10, Use::running}});
  CHECK(compare(running, running).finding == Finding::nothing);
}

TEST_CASE("chains are found again at their places, each once", "[stop_mark]") {
  const StopMark before = stop({}, {{1, 7}, {1, 7}, {2, 7}});
  const StopChange same = compare(before, before);
  CHECK(same.chains.stood == 3);
  CHECK(same.finding == Finding::hang);
  const StopChange gone = compare(before, stop({}, {{1, 7}, {3, 7}}));
  CHECK(gone.chains.stood == 1);
  CHECK(gone.chains.moved == 2);
  CHECK(gone.perhaps == 0);
  CHECK(gone.finding == Finding::wait);
}

TEST_CASE("after a collection equal chains may be the same ones", "[stop_mark]") {
  const StopMark before = stop({}, {{1, 7}, {2, 7}, {3, 8}});
  const StopChange change = compare(before, stop({}, {{1, 7}, {9, 7}, {10, 7}}, {{0x2000, HeapPart::gen2}}));
  CHECK(change.collected);
  CHECK(change.chains.stood == 2);
  CHECK(change.perhaps == 1);
  CHECK(change.chains.moved == 1);
  CHECK(change.finding == Finding::hang);
}

TEST_CASE("a part of the heap that was added is no collection", "[stop_mark]") {
  const StopMark before = stop({}, {{1, 7}});
  CHECK_FALSE(
      compare(before, stop({}, {{1, 7}}, {{0x1000, HeapPart::gen2}, {0x2000, HeapPart::gen0}})).collected);
  CHECK(compare(before, stop({}, {{1, 7}}, {{0x1000, HeapPart::gen1}})).collected);
}
