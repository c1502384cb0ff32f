// Peer cases: dotnet/runtime src/native/managed/cdac/tests (NibbleMap).
#include "core/execution/nibble_map.h"
#include "core/memory/counting_reader.h"
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
            writer.units(), empty) {}
  MemoryBuilder memory;
  NibbleMapWriter writer;
  Target target;
  EmptyPages empty;
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
    EmptyPages empty;
    const NibbleMap map(target, NibbleMapVersion::linear, map_base, writer.units(), empty);
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

TEST_CASE("a long way back to a start is read once, by pages") {
  constexpr std::uint64_t page_units = 4096 / 4, page_code = page_units * NibbleMap::unit_bytes, pages = 40;
  for (const bool aligned : {false, true})
    for (const Address start : {Address{0x40}, 3 * page_code + 0x720, 4 * page_code - 4}) {
      INFO(aligned << " " << start);
      MemoryBuilder memory;
      const Address units = memory.allocate((pages + 1) * 4096, 4096) + (aligned ? 0 : 4 * 300);
      const std::uint64_t delta = start % NibbleMap::unit_bytes;
      memory.write_integer(units + start / NibbleMap::unit_bytes * 4,
                           (delta % 32 / 4 + 1) << (28 - 4 * (delta / 32)), 4);
      CountingReader counting(memory);
      const Target target(counting, {}, {});
      EmptyPages empty;
      const NibbleMap map(target, NibbleMapVersion::linear, map_base, units, empty);
      const Address far = map_base + pages * page_code - 1;
      CHECK(map.find_start(far) == map_base + start);
      CHECK(counting.reads() <= NibbleMap::single_units + pages + 3);
      counting.reset();
      CHECK(map.find_start(far - 5 * page_code) == map_base + start);
      // The units near the address, the rest of its page, and the page of the start.
      CHECK(counting.reads() <= NibbleMap::single_units + 4);
      // From everywhere the same start is found, and none before it.
      for (Address at = start; at < pages * page_code; at += page_code / 3)
        REQUIRE(map.find_start(map_base + at) == map_base + start);
      CHECK_FALSE(map.find_start(map_base + start - 1));
    }
}

TEST_CASE("what is known of a map's pages does not change how far a search goes") {
  MemoryBuilder memory;
  const Address units = memory.allocate((NibbleMap::max_units_back + 4096) * 4, 4096);
  memory.write_integer(units, 0x1000'0000, 4);
  const Target target(memory, {}, {});
  const auto offset = [](std::uint64_t unit) { return map_base + unit * NibbleMap::unit_bytes; };
  EmptyPages empty;
  const NibbleMap map(target, NibbleMapVersion::linear, map_base, units, empty);
  for (int i = 0; i < 2; ++i) {
    CHECK_FALSE(map.find_start(offset(NibbleMap::max_units_back + 1)));
    CHECK(map.find_start(offset(NibbleMap::max_units_back)) == map_base);
    CHECK_FALSE(map.find_start(offset(NibbleMap::max_units_back + 4000)));
  }
}

TEST_CASE("heaps whose maps are not aligned alike do not share what is known of a page") {
  MemoryBuilder memory;
  const Address units = memory.allocate(8 * 4096, 4096);
  memory.write_integer(units + 4096, 0x100, 2); // the first two bytes of a page
  const Target target(memory, {}, {});
  EmptyPages empty;
  const auto found = [&](Address first) {
    const NibbleMap map(target, NibbleMapVersion::linear, map_base, first, empty);
    return map.find_start(map_base + 6 * 1024 * NibbleMap::unit_bytes).has_value();
  };
  CHECK(found(units - 2 + 4096 - 8)); // a unit over the border of the page
  CHECK(found(units));
}

TEST_CASE("a map of which a part is missing is read up to there") {
  Map m(Platform{}, 1);
  const Address units = m.memory.allocate(4 * 4096, 4096);
  m.memory.write_integer(units + 4096 + 200, 0x1000'0000, 4);
  m.memory.erase(units + 4096, 100);
  const NibbleMap map(m.target, NibbleMapVersion::linear, map_base, units, m.empty);
  const Address far = map_base + 3 * 1024 * NibbleMap::unit_bytes;
  CHECK(map.find_start(far) == map_base + (1024 + 50) * NibbleMap::unit_bytes);
  m.memory.write_integer(units + 4096 + 200, 0, 4);
  const auto fault = fault_of([&] { map.find_start(far); });
  REQUIRE(fault);
  CHECK(fault->kind() == ErrorKind::memory_missing);
  CHECK(fault->address() == units + 4096 + 96);
}

TEST_CASE("a search in a map that goes on at address 0 ends") {
  MemoryBuilder memory;
  const Address units = ~Address{0} - 4095;
  memory.at(units).fill(4096);
  memory.at(0).fill(2 * 4096);
  const Target target(memory, {}, {});
  EmptyPages empty;
  const NibbleMap map(target, NibbleMapVersion::linear, map_base, units, empty);
  for (int i = 0; i < 2; ++i)
    for (const std::uint64_t unit : {3 * 1024 - 1, 2 * 1024 + 7, 1024})
      CHECK_FALSE(map.find_start(map_base + unit * NibbleMap::unit_bytes));
}
