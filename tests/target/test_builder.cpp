// The builders that all suites use.
#include "tests/support/target_builder.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

TEST_CASE("a label may be used before and after it stands") {
  for (const Platform& platform : all_platforms()) {
    INFO(to_string(platform));
    MemoryBuilder memory(platform);
    memory.at(0x1000).pointer("later", 1).relative("later", 0x2000);
    memory.at(0x2010).label("later").u16(0x1234);
    memory.at(0x3000).pointer("later");
    const Target target(memory, {.platform = platform}, platform);
    CHECK(target.read_pointer(0x1000) == 0x2011);
    CHECK(target.read_u32(0x1000 + platform.pointer_size) == 0x10);
    CHECK(target.read_pointer(0x3000) == 0x2010);
    CHECK(target.read_u16(memory["later"]) == 0x1234);
    CHECK(target.read_u8(0x2010) == (platform.byte_order == ByteOrder::little ? 0x34 : 0x12));
  }
}

TEST_CASE("what was not written or was erased is missing") {
  MemoryBuilder memory;
  const Address first = memory.allocate(16), second = memory.allocate(8);
  CHECK(second > first + 16);
  std::array<std::byte, 32> out;
  CHECK(memory.read_some(first, out) == 16);
  memory.erase(first + 5, 1);
  CHECK(memory.read_some(first, out) == 5);
  CHECK(memory.read_some(first - 1, out) == 0);
}

TEST_CASE("an undefined label is the test's mistake") {
  MemoryBuilder memory;
  memory.at(0x1000).pointer("nowhere");
  std::array<std::byte, 1> out;
  CHECK_THROWS_AS(memory.read_some(0x1000, out), std::logic_error);
  CHECK_THROWS_AS(memory["nowhere"], std::logic_error);
}

TEST_CASE("fields are laid out naturally and records written in their widths") {
  for (const Platform& platform : all_platforms()) {
    INFO(to_string(platform));
    const std::uint64_t p = platform.pointer_size;
    TargetBuilder t(platform);
    t.type("R", {{"A", Width::u8}, {"B"}, {"C", Width::u16}, {"D", Width::u32}, {"E", Width::bytes, 3}});
    CHECK(t.offset("R", "A") == 0);
    CHECK(t.offset("R", "B") == static_cast<std::int64_t>(p));
    CHECK(t.offset("R", "C") == static_cast<std::int64_t>(2 * p));
    CHECK(t.offset("R", "D") == static_cast<std::int64_t>(2 * p + 4));
    CHECK(t.offset("R", "E") == static_cast<std::int64_t>(2 * p + 8));
    CHECK(t.size_of("R") == (p == 8 ? 32 : 20));
    const Address record = t.record("R", {{"A", 0x11}, {"B", 0x2233'4455}, {"D", 0x6677'8899}});
    t.variable("Variable", record);
    const Target target = t.target();
    CHECK(target.read_u8(record) == 0x11);
    CHECK(target.read_pointer(target.field_address(record, "R", "B")) == 0x2233'4455);
    CHECK(target.read_u32(target.field_address(record, "R", "D")) == 0x6677'8899);
    CHECK(target.read_pointer(target.global("Variable")) == record);
  }
}

TEST_CASE("the written descriptor is the one that target() has") {
  for (const Platform& platform : all_platforms()) {
    INFO(to_string(platform));
    TargetBuilder t(platform);
    t.type("R", {{"A", Width::u8}, {"B", Width::pointer, 0, -8, "pointer"}}, 0).contract("C", 2);
    t.contract("D", "c1").global("Number", 7, "uint32").global("Text", "unix").pointer_global("P", 0x1230);
    const ContractDescriptor read = read_contract_descriptor(t.memory(), t.write_descriptor());
    const ContractDescriptor built = t.contract_descriptor();
    CHECK(read.platform == Platform{platform.pointer_size, platform.byte_order});
    CHECK(read.contracts == built.contracts);
    REQUIRE(read.types.size() == 1);
    CHECK_FALSE(read.types.at("R").size);
    CHECK(read.types.at("R").fields.at("B").offset == -8);
    CHECK(read.types.at("R").fields.at("B").type == "pointer");
    CHECK(read.globals.at("Number").number == 7u);
    CHECK(read.globals.at("Text").text == "unix");
    CHECK(read.globals.at("P").number == 0x1230u);
  }
}
