// Peer cases: dotnet/runtime src/native/managed/cdac/tests (NibbleMap).
#include "core/execution/nibble_map.h"
#include "tests/support/execution_builder.h"
#include "tests/support/faults.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

constexpr Address map_base = 0x5f5f'0000;
constexpr std::uint64_t map_size = 0x1000;

struct Map {
  Map(Platform platform, unsigned version)
      : memory(platform), writer(memory, version, map_base, map_size),
        target(memory, ContractDescriptor{.platform = platform}, platform),
        map(target, version == 1 ? NibbleMapVersion::linear : NibbleMapVersion::constant_time, map_base,
            writer.units()) {}
  MemoryBuilder memory;
  NibbleMapWriter writer;
  Target target;
  NibbleMap map;
};

} // namespace

TEST_CASE("version 1 finds every byte of a method and all behind it") {
  for (const Platform& platform : execution_platforms()) {
    INFO(to_string(platform));
    Map m(platform, 1);
    const Address start = map_base + 0x200;
    m.writer.add(start, 0x80);
    for (Address pc = map_base; pc < start; ++pc) REQUIRE_FALSE(m.map.find_start(pc));
    for (Address pc = start; pc < map_base + map_size; ++pc) REQUIRE(m.map.find_start(pc) == start);
    CHECK_FALSE(m.map.find_start(map_base - 1));
  }
}

TEST_CASE("version 2 finds every byte of a method and nothing far behind it") {
  for (const Platform& platform : execution_platforms()) {
    INFO(to_string(platform));
    Map m(platform, 2);
    const Address start = map_base + 0x200;
    const std::uint64_t size = 0x400;
    m.writer.add(start, size);
    for (Address pc = map_base; pc < start; ++pc) REQUIRE_FALSE(m.map.find_start(pc));
    for (Address pc = start; pc < start + size; ++pc) REQUIRE(m.map.find_start(pc) == start);
    for (Address pc = start + size + 512; pc < map_base + map_size; ++pc) REQUIRE_FALSE(m.map.find_start(pc));
  }
}

TEST_CASE("the worked example of the contract") {
  for (const Platform& platform : execution_platforms()) {
    Map m(platform, 2);
    m.writer.add(map_base + 304, 1024);
    const auto unit = [&](unsigned i) { return m.target.read_u32(m.writer.units() + 4 * i); };
    CHECK(unit(1) == 0x0500'0000); // bucket 9: shift 24
    CHECK(unit(2) == 313);         // 304 + 9
    CHECK(unit(3) == 313);
    CHECK(unit(4) == 313);
    CHECK(unit(5) == 0);
    CHECK(m.map.find_start(map_base + 306) == map_base + 304);
    CHECK_FALSE(m.map.find_start(map_base + 302));
    CHECK(m.map.find_start(map_base + 1300) == map_base + 304);
  }
}

TEST_CASE("pointers of version 2 keep the offset in a bucket") {
  for (const std::uint64_t offset : {0u, 4u, 8u, 12u, 16u, 28u}) {
    Map m(Platform{}, 2);
    const Address start = map_base + 0x100 + offset;
    m.writer.add(start, 0x900);
    CHECK(m.map.find_start(start + 0x8ff) == start);
    CHECK(m.map.find_start(start + 0x300) == start);
  }
}

TEST_CASE("a start later in the bucket of an address is another method") {
  for (const unsigned version : {1u, 2u}) {
    Map m(Platform{}, version);
    m.writer.add(map_base + 0x40, 0x30);
    m.writer.add(map_base + 0x70, 0x20); // the same bucket as the end of the first
    CHECK(m.map.find_start(map_base + 0x6f) == map_base + 0x40);
    CHECK(m.map.find_start(map_base + 0x70) == map_base + 0x70);
    CHECK(m.map.find_start(map_base + 0x8f) == map_base + 0x70);
  }
}

TEST_CASE("a map without a version is read whichever it is") {
  for (const unsigned written : {1u, 2u}) {
    MemoryBuilder memory;
    NibbleMapWriter writer(memory, written, map_base, map_size);
    writer.add(map_base + 0x204, 0x5f0);
    const Target target(memory, {}, {});
    const NibbleMap map(target, NibbleMapVersion::linear, map_base, writer.units());
    for (Address pc = map_base + 0x204; pc < map_base + 0x204 + 0x5f0; ++pc)
      REQUIRE(map.find_start(pc) == map_base + 0x204);
  }
}

TEST_CASE("damaged units") {
  Map m(Platform{}, 2);
  for (const std::uint32_t nibble : {13u, 14u, 15u}) {
    m.memory.write_integer(m.writer.units() + 4, 0x200 | nibble, 4);
    CHECK(fault_of([&] { m.map.find_start(map_base + 0x180); })->kind() == ErrorKind::corrupt);
  }
  m.memory.erase(m.writer.units(), 4);
  const auto fault = fault_of([&] { m.map.find_start(map_base + 0x80); });
  REQUIRE(fault);
  CHECK(fault->kind() == ErrorKind::memory_missing);
  CHECK(fault->address() == m.writer.units());
}
