// All managed code as rows, and what a walk over it leaves out.
#include "core/execution/nibble_map.h"
#include "core/runtime/code_rows.h"
#include "core/runtime/image_walk.h"
#include "tests/support/execution_builder.h"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace clr;
using namespace clr::test;

namespace {

constexpr Platform platform{
    .pointer_size = 8, .byte_order = ByteOrder::little, .cpu = Cpu::x64, .os = Os::unix_like};

Runtime runtime_of(ExecutionBuilder& builder) {
  builder.types().variable("AppDomain", 0x1234);
  return {builder.memory(),
          {{.path = "/usr/lib/libcoreclr.so",
            .base = 0x20'0000,
            .size = 0x1'0000,
            .build_id = {},
            .contract_descriptor = builder.types().write_descriptor()}},
          platform,
          nullptr};
}

} // namespace

TEST_CASE("of bodies whose size nobody knows so many are told, and how many more there are") {
  constexpr std::size_t more = 56, bodies = max_unsized + more;
  constexpr Address begin = 0x4000'0000;
  static_assert(bodies % NibbleMap::buckets_per_unit == 0);
  ExecutionBuilder builder(platform);
  auto heap = builder.heap(begin, begin + bodies * NibbleMap::bucket_bytes);
  // One header, without GC info and unwind data, for a body in every bucket.
  const Address header = builder.types().record("RealCodeHeader", {{"MethodDesc", 0x7777'0000}}, 64);
  for (std::size_t i = 0; i < bodies; ++i)
    builder.memory().at(begin + i * NibbleMap::bucket_bytes - platform.pointer_size).pointer(header);
  for (std::size_t unit = 0; unit < bodies / NibbleMap::buckets_per_unit; ++unit)
    builder.memory().write_integer(heap.map->units() + 4 * unit, 0x1111'1111, 4);
  Runtime runtime = runtime_of(builder);
  REQUIRE(runtime.absence() == nullptr);
  const auto holes = for_each_code_row(runtime, [](const symbols::MapRow&) { return true; });
  REQUIRE(holes.size() == max_unsized + 1);
  CHECK(holes.front().address == begin);
  CHECK_THAT(holes[max_unsized - 1].what, Catch::Contains("without GC info"));
  CHECK(holes.back().what == "56 more bodies of unknown size");
}

TEST_CASE("sections that begin at one address are one image to a walk") {
  constexpr Address begin = 0x60'0000;
  ExecutionBuilder builder(platform);
  for (const Address module : {0x7777'1000u, 0x7777'1000u, 0x7777'2000u})
    builder.section({.begin = begin, .end = begin + 0x1000, .flags = 0, .r2r_module = module});
  builder.section({.begin = begin + 0x2000, .end = begin + 0x3000, .flags = 0, .r2r_module = 0x7777'1000});
  Runtime runtime = runtime_of(builder);
  const auto holes = runtime.for_each_method({}, [](const MethodRow&) { return true; });
  const auto at = [&](Address address) {
    return std::ranges::count(holes, address, &EnumerationHole::address);
  };
  CHECK(at(begin) == 1);
  CHECK(at(begin + 0x2000) == 1);
}

TEST_CASE("a walk over images ends after so many methods, and knows whether it left some out") {
  ImageWalk walk;
  CHECK_FALSE(walk.enter({.begin = 0x1000})); // no image
  CHECK(walk.enter({.begin = 0x1000, .r2r_module = 0x5000}));
  CHECK_FALSE(walk.enter({.begin = 0x1000, .r2r_module = 0x6000}));
  std::size_t taken = 0;
  while (taken < ImageWalk::max_image_methods && walk.take()) ++taken;
  CHECK(taken == ImageWalk::max_image_methods);
  CHECK_FALSE(walk.spent());
  CHECK_FALSE(walk.take());
  CHECK(walk.spent());
  CHECK_FALSE(walk.take());
}
