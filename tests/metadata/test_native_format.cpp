#include "core/metadata/native_format.h"
#include "tests/support/metadata_builder.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

struct Section {
  explicit Section(Bytes b) : bytes(std::move(b)), memory(bytes), range(memory, 0, bytes.size()) {}
  Bytes bytes;
  HostMemory memory;
  ByteRange range;
};

bool corrupt(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.kind() == ErrorKind::corrupt;
  }
  return false;
}

} // namespace

TEST_CASE("native-format unsigned integers of 1 to 5 bytes") {
  const auto decode = [](const Bytes& b) {
    const Section s(b);
    return std::pair(decode_native_unsigned(s.range, 0).value, decode_native_unsigned(s.range, 0).next);
  };
  using Pair = std::pair<std::uint32_t, std::uint64_t>;
  CHECK(decode(bytes_of({0x00})) == Pair(0, 1));
  CHECK(decode(bytes_of({0xfe})) == Pair(0x7f, 1));
  CHECK(decode(bytes_of({0x01, 0x02})) == Pair(0x80, 2));
  CHECK(decode(bytes_of({0xfd, 0xff})) == Pair(0x3fff, 2));
  CHECK(decode(bytes_of({0x03, 0x00, 0x02})) == Pair(0x4000, 3));
  CHECK(decode(bytes_of({0xf7, 0xff, 0xff, 0xff})) == Pair(0x0fff'ffff, 4));
  CHECK(decode(bytes_of({0x0f, 0x78, 0x56, 0x34, 0x12})) == Pair(0x12345678, 5));
  CHECK(corrupt([&] { decode(bytes_of({0x1f, 0, 0, 0, 0})); }));
  CHECK(corrupt([&] { decode(bytes_of({0x01})); }));
  CHECK(corrupt([&] { decode({}); }));
}

TEST_CASE("native-format signed integers") {
  const auto decode = [](const Bytes& b) {
    const Section s(b);
    return decode_native_signed(s.range, 0).value;
  };
  CHECK(decode(bytes_of({0x02})) == 1);
  CHECK(decode(bytes_of({0xfe})) == -1);
  CHECK(decode(bytes_of({0x80})) == -64);
  CHECK(decode(bytes_of({0x01, 0x01})) == 64);
  CHECK(decode(bytes_of({0xfd, 0xfe})) == -65);
  CHECK(decode(bytes_of({0x03, 0x00, 0x80})) == -(1 << 20));
  CHECK(decode(bytes_of({0x0f, 0xff, 0xff, 0xff, 0xff})) == -1);
}

TEST_CASE("an array finds what it holds and nothing else") {
  // Header: 20 elements, 1-byte block index. Two blocks. The first holds elements 0 (leaf) only; the second,
  // elements 16 and 19, as a tree: bit 8 and 4 of the index are 0 ("follow to the left": value 1), then a
  // node with both branches.
  Bytes section;
  const std::uint32_t header = 20 << 2 | 0; // as an integer of two bytes
  append_u16(section, header << 2 | 1);
  const Bytes rest = bytes_of({
      0x02, 0x04,          // block index, from here: block 0 at +2, block 1 at +4
      0x00 << 1, 0x22,     // +2: leaf of element 0 (value 0 << 2), then its payload
      0x01 << 1,           // +4: bit 8, only left
      0x01 << 1,           // +5: bit 4, only left
      (2 << 2 | 3) << 1,   // +6: bit 2, both; right branch at +6+2
      0x01 << 1,           // +7: bit 2 left: bit 1, only left ... its element 16 follows
      (3 << 2) << 1, 0x66, // +8: leaf of element 3 of the block, payload
  });
  section.insert(section.end(), rest.begin(), rest.end());
  const Section s(section);
  const NativeArray array(s.range);
  CHECK(array.count() == 20);
  REQUIRE(array.find(0).has_value());
  CHECK(s.range.u8(*array.find(0)) == 0x22);
  CHECK_FALSE(array.find(1).has_value());
  CHECK_FALSE(array.find(15).has_value());
  REQUIRE(array.find(16).has_value());
  CHECK(*array.find(16) == 2 + 8);
  REQUIRE(array.find(19).has_value());
  CHECK(s.range.u8(*array.find(19)) == 0x66);
  CHECK_FALSE(array.find(18).has_value());
  CHECK_FALSE(array.find(20).has_value());
}

TEST_CASE("a hash table gives the entries of its buckets") {
  // Two buckets with a 1-byte index: bucket 0 is 4..6, bucket 1 is 6..10; each entry is a byte of its hash
  // and a distance from where the distance stands, forwards or backwards.
  const Section s(
      bytes_of({1 << 2 | 0, 3, 5, 9, 0xaa, 8 << 1, 0xbb, 6 << 1, 0xcc, 0xfe & (0x80 - 3) << 1, 0, 0, 0, 0}));
  const NativeHashtable table(s.range);
  CHECK(table.bucket_count() == 2);
  std::vector<std::uint64_t> entries;
  const auto collect = [&](std::uint64_t at) { entries.push_back(at); };
  table.for_each_in_bucket(0, collect);
  CHECK(entries == std::vector<std::uint64_t>{13});
  table.for_each_in_bucket(1, collect);
  CHECK(entries == std::vector<std::uint64_t>{13, 13, 6});
}

TEST_CASE("arrays and tables that lie are refused") {
  CHECK(corrupt([] { NativeArray(Section({}).range); }));
  CHECK(corrupt([] { NativeArray(Section(bytes_of({3 << 1})).range); })); // index width
  CHECK(corrupt([] { NativeArray(Section(bytes_of({0x0f, 0xfc, 0xff, 0xff, 0xff, 0, 0})).range); })); // count
  CHECK(corrupt([] { NativeHashtable(Section({}).range); }));
  CHECK(corrupt([] { NativeHashtable(Section(bytes_of({3, 0, 0, 0})).range); }));
  CHECK(corrupt([] { NativeHashtable(Section(bytes_of({0xfc, 0, 0, 0})).range); }));
  CHECK(corrupt([] { NativeHashtable(Section(bytes_of({8 << 2, 0, 0, 0})).range); }));
  const Section outside(bytes_of({0, 2, 4, 0xaa, 0x7e}));
  CHECK(corrupt([&] { NativeHashtable(outside.range).for_each_in_bucket(0, [](std::uint64_t) {}); }));
}
