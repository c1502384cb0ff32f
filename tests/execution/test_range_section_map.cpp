// Peer cases: dotnet/runtime src/native/managed/cdac/tests (RangeSectionMap).
#include "core/execution/execution_manager.h"
#include "core/execution/range_section_map.h"
#include "tests/support/execution_builder.h"
#include "tests/support/faults.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>

using namespace clr;
using namespace clr::test;

namespace {

struct Found {
  std::vector<RangeSection> sections;
  std::vector<Address> holes;
  std::vector<std::string> told;
};

Found enumerate(const Target& target) {
  Found found;
  RangeSectionMap(target).for_each([&](const RangeSection& section) { found.sections.push_back(section); },
                                   [&](Address at, const std::string& what) {
                                     found.holes.push_back(at);
                                     found.told.push_back(what);
                                   });
  return found;
}

// Memory in which a fragment is wherever one is read, without a section, and the next one behind it.
class EndlessFragments final : public MemoryReader {
public:
  static constexpr Address begin = 0x4000'0000, end = 0x8000'0000, step = 2;
  EndlessFragments(MemoryReader& next, std::int64_t next_field)
      : next_(&next), next_field_(static_cast<std::size_t>(next_field)) {}
  std::size_t read_some(Address address, std::span<std::byte> out) override {
    if (address < begin || address >= end) return next_->read_some(address, out);
    ++fragments_;
    std::ranges::fill(out, std::byte{0});
    const Address next = address - next_field_ + step;
    std::memcpy(out.data(), &next, sizeof next);
    return out.size();
  }
  std::size_t fragments() const { return fragments_; }

private:
  MemoryReader* next_;
  std::size_t next_field_, fragments_ = 0;
};

} // namespace

TEST_CASE("the slots of an address on every level") {
  for (const Platform& platform : execution_platforms()) {
    const bool wide = platform.pointer_size == 8;
    const unsigned leaf = wide ? 17 : 16;
    CHECK(RangeSectionMap::levels(platform) == (wide ? 5u : 2u));
    for (unsigned level = 1; level <= RangeSectionMap::levels(platform); ++level) {
      for (unsigned value = 0; value < 256; ++value) {
        const unsigned shift = leaf + 8 * (level - 1);
        const Address above = shift + 8 >= 64 ? 0 : ~Address{0} << (shift + 8);
        const Address noise = (Address{1} << shift) - 1;
        const Address address = platform.wrap(above | Address{value} << shift | noise);
        REQUIRE(RangeSectionMap::index(platform, address, level) == value);
      }
    }
  }
}

TEST_CASE("range sections are found by address") {
  for (const Platform& platform : execution_platforms()) {
    ExecutionBuilder b(platform);
    const Address section = b.section({.begin = 0x007f'0000, .end = 0x007f'1000, .heap = 0x0a0a'0a0a});
    const Target target = b.target();
    const RangeSectionMap map(target);
    INFO(to_string(platform));
    CHECK_FALSE(map.find(0x006f'0000));
    CHECK_FALSE(map.find(0x007f'0000 - 1));
    CHECK_FALSE(map.find(0x007f'1000)); // the end is open
    CHECK_FALSE(map.find(0));
    CHECK_FALSE(map.find(platform.wrap(~Address{0})));
    for (const Address inside : {0x007f'0000, 0x007f'0800, 0x007f'0fff}) {
      const auto found = map.find(static_cast<Address>(inside));
      REQUIRE(found);
      CHECK(found->address == section);
      CHECK(found->begin == 0x007f'0000);
      CHECK(found->end == 0x007f'1000);
      CHECK(found->flags == RangeSection::code_heap);
      CHECK(found->heap_list == 0x0a0a'0a0a);
      CHECK(found->jit_manager == 0x000b'ff00);
      CHECK(found->r2r_module == 0);
      CHECK_FALSE(found->being_deleted);
    }
    const Found all = enumerate(target);
    REQUIRE(all.sections.size() == 1);
    CHECK(all.sections[0].address == section);
    CHECK(all.holes.empty());
  }
}

TEST_CASE("a section that spans many leaf slots is enumerated once") {
  for (const Platform& platform : execution_platforms()) {
    ExecutionBuilder b(platform);
    const Address first = b.section({.begin = 0x1000'0000, .end = 0x1080'0000});
    const Address second = b.section({.begin = 0x1080'0000, .end = 0x1080'1000});
    const Target target = b.target();
    const RangeSectionMap map(target);
    CHECK(map.find(0x1000'0000)->address == first);
    CHECK(map.find(0x1044'4444)->address == first);
    CHECK(map.find(0x107f'ffff)->address == first);
    CHECK(map.find(0x1080'0000)->address == second);
    CHECK(enumerate(target).sections.size() == 2);
  }
}

TEST_CASE("fragment chains") {
  for (const Platform& platform : execution_platforms()) {
    INFO(to_string(platform));
    ExecutionBuilder b(platform);
    const Address begin = 0x0a0a'0000, end = 0x0a0a'c000;
    const Address live = b.types().record("RangeSection", {{"RangeBegin", begin}, {"RangeEndOpen", end}});
    const Address deleted = b.types().record(
        "RangeSection", {{"RangeBegin", begin}, {"RangeEndOpen", end}, {"NextForDelete", 0x1234'5670}});

    SECTION("a tagged link behind a fragment with an empty range") {
      const Address tail = b.fragment(live, begin, end);
      const Address head = b.fragment(deleted, begin, begin, tail | 1);
      b.memory().at(b.slot_of(begin)).pointer(head | 1);
      const Target target = b.target();
      const auto found = RangeSectionMap(target).find(begin + 8);
      REQUIRE(found);
      CHECK(found->address == live);
    }
    SECTION("a section being deleted before a live one") {
      const Address tail = b.fragment(live, begin, end);
      b.memory().at(b.slot_of(begin)).pointer(b.fragment(deleted, begin, end, tail));
      const Target target = b.target();
      CHECK(RangeSectionMap(target).find(begin)->address == live);
    }
    SECTION("only a section being deleted") {
      b.memory().at(b.slot_of(begin)).pointer(b.fragment(deleted, begin, end));
      const Target target = b.target();
      const auto found = RangeSectionMap(target).find(begin);
      REQUIRE(found);
      CHECK(found->being_deleted);
    }
    SECTION("a loop is a fault, and ends an enumeration") {
      const Address head = b.fragment(live, 0, 0);
      b.types().set(head, "RangeSectionFragment", "Next", head);
      b.memory().at(b.slot_of(begin)).pointer(head);
      const Target target = b.target();
      const auto fault = fault_of([&] { RangeSectionMap(target).find(begin); });
      REQUIRE(fault);
      CHECK(fault->kind() == ErrorKind::corrupt);
      CHECK(enumerate(target).sections.empty()); // the fragment has not the range of its section
    }
    SECTION("a fragment without a section") {
      b.memory().at(b.slot_of(begin)).pointer(b.fragment(0, begin, end));
      const Target target = b.target();
      CHECK(fault_of([&] { RangeSectionMap(target).find(begin); })->kind() == ErrorKind::corrupt);
    }
    SECTION("a section that ends before it begins") {
      const Address wrong = b.types().record("RangeSection", {{"RangeBegin", end}, {"RangeEndOpen", begin}});
      b.memory().at(b.slot_of(begin)).pointer(b.fragment(wrong, begin, end));
      const Target target = b.target();
      CHECK(fault_of([&] { RangeSectionMap(target).find(begin); })->kind() == ErrorKind::corrupt);
      CHECK(enumerate(target).holes.size() == 1);
    }
  }
}

TEST_CASE("a table that leads to itself does not trap an enumeration") {
  ExecutionBuilder b({.pointer_size = 8, .cpu = Cpu::x64});
  b.section({.begin = 0x1000'0000, .end = 0x1000'1000});
  b.memory().at(b.top() + 8 * 7).pointer(b.top());
  const Target target = b.target();
  const Found all = enumerate(target);
  CHECK(all.sections.size() == 1);
  CHECK(all.holes == std::vector<Address>{b.top()});
}

TEST_CASE("an enumeration goes on behind missing tables") {
  ExecutionBuilder b({.pointer_size = 8, .cpu = Cpu::x64});
  const Address low = b.section({.begin = 0x1000'0000, .end = 0x1000'1000});
  b.section({.begin = 0x7f00'0000'0000, .end = 0x7f00'0000'1000});
  const Address high = b.section({.begin = 0x7f80'0000'0000, .end = 0x7f80'0000'1000});
  // The leaf table of the section in the middle.
  b.memory().erase(b.slot_of(0x7f00'0000'0000) - 8 * (0x7f00'0000'0000 >> 17 & 255), 256 * 8);
  const Target target = b.target();
  const Found all = enumerate(target);
  REQUIRE(all.sections.size() == 2);
  CHECK((all.sections[0].address == low || all.sections[1].address == low));
  CHECK((all.sections[0].address == high || all.sections[1].address == high));
  CHECK_FALSE(all.holes.empty());
  CHECK(fault_of([&] { RangeSectionMap(target).find(0x7f00'0000'0000); })->kind() ==
        ErrorKind::memory_missing);
  CHECK(RangeSectionMap(target).find(0x7f80'0000'0000)->address == high);
}

TEST_CASE("a fragment and its section that have different ranges are not believed") {
  for (const Platform& platform : execution_platforms()) {
    INFO(to_string(platform));
    ExecutionBuilder b(platform);
    const Address begin = 0x0a0a'0000, end = 0x0a0a'c000;
    const Address section = b.section({.begin = begin, .end = end, .heap = 0x0a0a'0a00});
    const auto write = [&](std::string_view field, Address value) {
      b.memory().at(section + static_cast<Address>(b.types().offset("RangeSection", field))).pointer(value);
    };
    const auto refused = [&] {
      const Target target = b.target();
      const auto fault = fault_of([&] { RangeSectionMap(target).find(begin + 8); });
      const Found all = enumerate(target);
      return fault && fault->kind() == ErrorKind::corrupt && all.sections.empty() && !all.holes.empty();
    };
    CHECK_FALSE(refused());
    write("RangeEndOpen", end + 0x10'0000);
    CHECK(refused());
    write("RangeEndOpen", end);
    CHECK_FALSE(refused());
    write("RangeList", 0x0a0a'0b00); // a code heap that is a list of stubs as well
    CHECK(refused());
  }
}

TEST_CASE("a section that holds nothing is told, and hides no code") {
  for (const Platform& platform : execution_platforms()) {
    INFO(to_string(platform));
    ExecutionBuilder b(platform);
    const Address begin = 0x0a0a'0000, end = 0x0a0a'c000, inside = begin + 0x1000;
    const Address section = b.section({.begin = begin, .end = end, .heap = 0x0a0a'0a00});
    const Address empty = b.section({.begin = inside, .end = inside, .heap = 0x0a0a'0b00});
    const Target target = b.target();
    const Found all = enumerate(target);
    REQUIRE(all.sections.size() == 1);
    CHECK(all.sections[0].address == section);
    CHECK(all.holes == std::vector<Address>{empty});
    ExecutionManager manager(target);
    for (const Address address : {inside - 1, inside, end - 1}) {
      const RangeSection* const found = manager.section_at(address);
      REQUIRE(found != nullptr);
      CHECK(found->address == section);
    }
  }
}

TEST_CASE("a slot with more fragments than addresses could need is a fault, and is told once") {
  for (const Platform& platform : execution_platforms())
    for (const bool more : {false, true}) {
      INFO(to_string(platform) << more);
      ExecutionBuilder b(platform);
      const Address begin = 0x0a0a'0000, end = 0x0a0a'c000;
      const Address section =
          b.types().record("RangeSection", {{"RangeBegin", begin}, {"RangeEndOpen", end}});
      Address first = b.fragment(section, begin, end);
      const unsigned before = RangeSectionMap::max_fragments - (more ? 0 : 1);
      for (unsigned i = 0; i < before; ++i) first = b.fragment(0, end, end, first);
      b.memory().at(b.slot_of(begin)).pointer(first);
      const Target target = b.target();
      std::optional<RangeSection> found;
      const auto fault = fault_of([&] { found = RangeSectionMap(target).find(begin); });
      const Found all = enumerate(target);
      CHECK(fault.has_value() == more);
      CHECK(found.has_value() != more);
      CHECK(all.holes.size() == (more ? 1 : 0));
      CHECK(all.sections.size() == (more ? 0 : 1));
    }
}

TEST_CASE("fragments that overlap in memory do not make an enumeration endless") {
  const Platform platform{.pointer_size = 8, .cpu = Cpu::x64};
  ExecutionBuilder b(platform);
  constexpr Address in_leaf = Address{1} << 17, in_slot = 2 * RangeSectionMap::max_fragments;
  constexpr std::size_t slots = RangeSectionMap::max_all_fragments / RangeSectionMap::max_fragments + 64;
  for (std::size_t i = 0; i < slots; ++i)
    b.memory()
        .at(b.slot_of(i * in_leaf))
        .pointer(EndlessFragments::begin + i * in_slot * EndlessFragments::step);
  EndlessFragments reader(b.memory(), b.types().offset("RangeSectionFragment", "Next"));
  const Target target(reader, b.types().contract_descriptor(), platform);
  const Found all = enumerate(target);
  CHECK(reader.fragments() <= RangeSectionMap::max_all_fragments);
  CHECK(reader.fragments() > RangeSectionMap::max_all_fragments - slots);
  CHECK(std::ranges::count(all.told, "the range map has too many fragments: the rest is left out") == 1);
  CHECK(all.holes.size() <= slots);
}
