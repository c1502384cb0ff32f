#include "core/report/memory_use.h"

#include <catch2/catch.hpp>

using namespace clr;

namespace {

std::uint64_t of(const OwnedBytes& bytes, MemoryOwner owner) {
  return bytes[static_cast<std::size_t>(owner)];
}

} // namespace

TEST_CASE("each mapped byte has one owner", "[report]") {
  const std::vector<MemoryRange> mapped{{0x1000, 0x4000}, {0x8000, 0x1000}, {0x8800, 0x1000}};
  const std::vector<OwnedRange> owned{{{0x1800, 0x1000}, MemoryOwner::gc},
                                      {{0x2000, 0x1000}, MemoryOwner::code},  // half of it is the heap's
                                      {{0x4000, 0x3000}, MemoryOwner::files}, // and beyond what is mapped
                                      {{0x8000, 0x800}, MemoryOwner::reserved},
                                      {{0x8000, 0x1000}, MemoryOwner::gc},
                                      {{0x8000, 0x1000}, MemoryOwner::gc}};
  const OwnedBytes bytes = owned_bytes(mapped, owned);
  CHECK(of(bytes, MemoryOwner::gc) == 0x1000 + 0x800);
  CHECK(of(bytes, MemoryOwner::code) == 0x800);
  CHECK(of(bytes, MemoryOwner::files) == 0x1000);
  CHECK(of(bytes, MemoryOwner::reserved) == 0x800);
  CHECK(of(bytes, MemoryOwner::native) == 0x800 + 0x1000 + 0x800);
  std::uint64_t sum = 0;
  for (const std::uint64_t some : bytes) sum += some;
  CHECK(sum == 0x4000 + 0x1800);
}

TEST_CASE("nothing is owned where nothing is mapped", "[report]") {
  CHECK(owned_bytes({}, {{{0, ~std::uint64_t{0}}, MemoryOwner::gc}}) == OwnedBytes{});
  const OwnedBytes all = owned_bytes({{0, ~std::uint64_t{0}}}, {});
  CHECK(of(all, MemoryOwner::native) == ~std::uint64_t{0});
}
