// The codings of IL maps against bytes worked out by hand from the specification. Peer cases: the tests of
// dotnet/runtime src/native/managed/cdac (DebugInfo).
#include "core/debuginfo/bounds.h"
#include "tests/debuginfo/debug_info_writer.h"
#include "tests/support/faults.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

constexpr std::uint8_t call = IlBoundary::call_instruction, empty = IlBoundary::stack_empty;

// One map, which the vectors below hold.
const std::vector<IlBoundary> example{
    {0, il_prolog, empty}, {4, 0, empty}, {9, 7, call}, {16, 12, 0}, {21, il_epilog, empty}};

std::vector<IlBoundary> decode(const Bytes& raw, BoundsCoding coding) {
  return decode_bounds({.address = 0x1000, .bytes = raw}, coding);
}
Fault fault(const Bytes& raw, BoundsCoding coding) {
  return fault_of([&] { decode(raw, coding); });
}

} // namespace

TEST_CASE("integers in nibbles") {
  const std::vector<std::pair<std::uint32_t, Bytes>> vectors{
      {0, bytes({0x00})},
      {7, bytes({0x07})},
      {8, bytes({0x09})},
      {9, bytes({0x19})},
      {63, bytes({0x7F})},
      {64, bytes({0x89, 0x00})},
      {65, bytes({0x89, 0x01})},
      {511, bytes({0xFF, 0x07})},
      {512, bytes({0x89, 0x08})},
      {513, bytes({0x89, 0x18})},
      {0xFFFF'FFFF, bytes({0xFB, 0xFF, 0xFF, 0xFF, 0xFF, 0x07})}};
  for (const auto& [value, raw] : vectors) {
    INFO(value);
    NibbleReader in({.address = 0x1000, .bytes = raw});
    CHECK(in.u32() == value);
    CHECK(in.next_byte() == raw.size());
    CHECK(NibbleWriter().u32(value).bytes() == raw);
  }
}

TEST_CASE("integers in nibbles follow each other without padding, and have a sign in bit 0") {
  const Bytes raw = NibbleWriter().u32(8).i32(-5).u32(1).i32(5).i32(-0x3FFF'FFFF).bytes();
  NibbleReader in({.address = 0, .bytes = raw});
  CHECK(in.u32() == 8);
  CHECK(in.next_byte() == 1);
  CHECK(in.i32() == -5);
  CHECK(in.u32() == 1);
  CHECK(in.i32() == 5);
  CHECK(in.i32() == -0x3FFF'FFFF);
  CHECK(in.next_byte() == raw.size());
}

TEST_CASE("an integer in nibbles ends") {
  SECTION("after 32 bits") {
    for (const Bytes& raw : {Bytes(6, std::byte{0xFF}), Bytes(64, std::byte{0x88}),
                             bytes({0xFC, 0xFF, 0xFF, 0xFF, 0xFF, 0x07})}) {
      const auto error = fault_of([&] { NibbleReader({.address = 0x1000, .bytes = raw}).u32(); });
      REQUIRE(error);
      CHECK(error->kind() == ErrorKind::corrupt);
    }
  }
  SECTION("with its chunk") {
    const Bytes raw = bytes({0x88});
    const auto error = fault_of([&] { NibbleReader({.address = 0x1000, .bytes = raw}).u32(); });
    REQUIRE(error);
    CHECK(error->kind() == ErrorKind::corrupt);
  }
  SECTION("with the memory") {
    const Bytes raw = bytes({0x88});
    const auto error =
        fault_of([&] { NibbleReader({.address = 0x1000, .bytes = raw, .memory_ends = true}).u32(); });
    REQUIRE(error);
    CHECK(error->kind() == ErrorKind::memory_missing);
    CHECK(error->address() == 0x1001);
  }
}

TEST_CASE("one map in every coding") {
  const std::vector<std::pair<BoundsCoding, Bytes>> vectors{
      {BoundsCoding::nibbles, bytes({0x05, 0x21, 0x34, 0x52, 0x29, 0x0A, 0x97, 0x07, 0x05, 0x02})},
      {BoundsCoding::packed_2_bits, bytes({0x25, 0x03, 0x22, 0xE4, 0x54, 0xE5, 0x6F, 0x01})},
      {BoundsCoding::packed_3_bits, bytes({0x25, 0x03, 0x42, 0x88, 0x93, 0x2A, 0xFE, 0x2A, 0x00})}};
  for (const auto& [coding, raw] : vectors) {
    INFO(static_cast<int>(coding));
    CHECK(decode(raw, coding) == example);
    CHECK(bounds_bytes(example, coding) == raw);
  }
}

TEST_CASE("no block is an empty map") {
  for (const BoundsCoding coding : all_bounds_codings) CHECK(decode({}, coding).empty());
}

TEST_CASE("maps of any width") {
  for (const BoundsCoding coding : all_bounds_codings)
    for (unsigned width = 1; width < 32; ++width) {
      INFO(static_cast<int>(coding) << ' ' << width);
      const std::uint32_t step = (std::uint32_t{1} << width) - 1;
      const auto il = static_cast<std::int32_t>(step / 2);
      const std::vector<IlBoundary> map{{0, il_no_mapping, 0}, {1, il, empty}, {step, il_epilog, 3}};
      CHECK(decode(bounds_bytes(map, coding), coding) == map);
      // Wider fields than the values need.
      if (coding != BoundsCoding::nibbles) CHECK(decode(bounds_bytes(map, coding, 32, 32), coding) == map);
    }
}

TEST_CASE("the three bits of .NET 11's sources") {
  std::vector<IlBoundary> map;
  for (std::uint8_t source = 0; source < 8; ++source) map.push_back({source, source, source});
  CHECK(decode(bounds_bytes(map, BoundsCoding::packed_3_bits), BoundsCoding::packed_3_bits) == map);
}

TEST_CASE("sources of .NET 9 that nobody asks for are left out") {
  // Sequence point, call site and unknown end.
  const Bytes raw = NibbleWriter().u32(2).u32(0).u32(3).u32(0x1).u32(2).u32(4).u32(0x1E).bytes();
  const std::vector<IlBoundary> expected{{0, 0, 0}, {2, 1, std::uint8_t{call | empty}}};
  CHECK(decode(raw, BoundsCoding::nibbles) == expected);
  const Bytes unknown = NibbleWriter().u32(1).u32(0).u32(3).u32(0x20).bytes();
  CHECK(fault(unknown, BoundsCoding::nibbles)->kind() == ErrorKind::corrupt);
}

TEST_CASE("a map that is cut anywhere is corrupt") {
  for (const BoundsCoding coding : all_bounds_codings) {
    const Bytes whole = bounds_bytes(example, coding);
    for (std::size_t size = 1; size < whole.size(); ++size) {
      INFO(static_cast<int>(coding) << ' ' << size);
      const auto error = fault({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}, coding);
      REQUIRE(error);
      CHECK(error->kind() == ErrorKind::corrupt);
    }
  }
}

TEST_CASE("a map that lies is corrupt") {
  const auto check = [](const Bytes& raw, BoundsCoding coding) {
    const auto error = fault(raw, coding);
    REQUIRE(error);
    CHECK(error->kind() == ErrorKind::corrupt);
    CHECK(error->address() == 0x1000);
  };
  SECTION("counts beyond the block") {
    for (const std::uint32_t count : {100u, 0xFFFF'FFFFu}) {
      check(NibbleWriter().u32(count).u32(0).u32(3).u32(0).bytes(), BoundsCoding::nibbles);
      for (const BoundsCoding coding : {BoundsCoding::packed_2_bits, BoundsCoding::packed_3_bits})
        check(NibbleWriter().u32(count).u32(3).u32(3).bytes(), coding);
    }
  }
  SECTION("fields of more than 32 bits") {
    for (const std::uint32_t width : {32u, 63u, 0xFFFF'FFFFu}) {
      Bytes native = NibbleWriter().u32(1).u32(width).u32(3).bytes(),
            il = NibbleWriter().u32(1).u32(3).u32(width).bytes();
      native.resize(64);
      il.resize(64);
      check(native, BoundsCoding::packed_2_bits);
      check(il, BoundsCoding::packed_3_bits);
    }
  }
  SECTION("offsets beyond 32 bits") {
    check(NibbleWriter().u32(2).u32(0xFFFF'FFFF).u32(3).u32(0).u32(1).u32(3).u32(0).bytes(),
          BoundsCoding::nibbles);
    check(NibbleWriter().u32(1).u32(0).u32(0xFFFF'FFFF).u32(0).bytes(), BoundsCoding::nibbles);
  }
}

TEST_CASE("a map has no more boundaries than a method can have") {
  for (const BoundsCoding coding : all_bounds_codings) {
    const auto block = [&](std::uint32_t count) {
      NibbleWriter head;
      head.u32(count);
      if (coding != BoundsCoding::nibbles) head.u32(0).u32(0); // fields of one bit
      Bytes raw = head.bytes();
      raw.resize(raw.size() + max_boundaries * 3 / 2 + 8);
      return raw;
    };
    const auto told = fault(block(max_boundaries + 1), coding);
    REQUIRE(told);
    CHECK(told->kind() == ErrorKind::corrupt);
    CHECK_THAT(told->what(), Catch::Contains("1048577 boundaries"));
  }
}
