// The tables of ReadyToRun images, one by one. Peer cases: dotnet/runtime src/native/managed/cdac/tests
// (HashMap, HotColdLookup, RuntimeFunctions).
#include "core/execution/entry_point_map.h"
#include "core/execution/gc_info.h"
#include "core/execution/hot_cold_map.h"
#include "core/execution/runtime_functions.h"
#include "tests/support/execution_builder.h"
#include "tests/support/faults.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

TEST_CASE("hash maps, plain and of pointers") {
  for (const Platform& platform : execution_platforms()) {
    for (const bool shifted : {false, true}) {
      INFO(to_string(platform) << (shifted ? " shifted" : " plain"));
      ExecutionBuilder b(platform);
      const Address map_at = b.types().record("HashMap");
      const std::vector<std::pair<Address, Address>> pairs{
          {0x100, 0x10}, {0x200, 0x20}, {0x300, 0x30}, {0x400, 0x40}};
      b.hash_map(map_at, pairs, shifted);
      const Target target = b.target();
      const EntryPointMap map(target, map_at, shifted);
      for (const auto& [key, value] : pairs) CHECK(map.find(key) == value);
      CHECK_FALSE(map.find(0x101));
      CHECK_FALSE(map.find(0));
      CHECK_FALSE(map.find(1));
    }
  }
}

TEST_CASE("a hash map with collisions, overflow and a duplicate") {
  for (const Platform& platform : execution_platforms()) {
    ExecutionBuilder b(platform);
    const Address map_at = b.types().record("HashMap");
    // One seed for all, and more than a bucket holds.
    b.hash_map(map_at, {{4, 0x40}, {4, 0x44}, {5, 0x50}, {6, 0x60}, {7, 0x70}, {4 + 5 * 4 * 4, 0x80}}, true,
               5);
    const Target target = b.target();
    const EntryPointMap map(target, map_at);
    CHECK(map.find(4) == Address{0x40});
    CHECK(map.find(5) == Address{0x50});
    CHECK(map.find(6) == Address{0x60});
    CHECK(map.find(7) == Address{0x70});
    CHECK(map.find(4 + 5 * 4 * 4) == Address{0x80});
  }
}

TEST_CASE("a hash map in which every bucket has overflowed") {
  constexpr Address word = 8, bucket = 8 * word, overflow = Address{1} << 63;
  for (const std::uint32_t count : {97u, 197u}) {
    ExecutionBuilder b({.pointer_size = word, .cpu = Cpu::x64});
    const Address map_at = b.types().record("HashMap");
    b.hash_map(map_at, {{0x100, 0x10}}, true, count);
    const Address cells = b.target().read_pointer(map_at + 16);
    for (Address i = 1; i <= count; ++i) {
      const Address value = cells + i * bucket + 4 * word;
      b.memory().at(value).pointer(b.target().read_pointer(value) | overflow);
    }
    const Target target = b.target();
    const EntryPointMap map(target, map_at);
    CHECK(map.find(0x100) == Address{0x10});
    std::optional<Address> found;
    const auto fault = fault_of([&] { found = map.find(0x104); });
    CHECK_FALSE(found);
    REQUIRE(fault.has_value() == (count > EntryPointMap::max_probes));
    if (fault) CHECK(fault->kind() == ErrorKind::corrupt);
  }
}

TEST_CASE("hash maps with impossible sizes") {
  ExecutionBuilder b({.pointer_size = 8, .cpu = Cpu::x64});
  const Address map_at = b.types().record("HashMap");
  b.hash_map(map_at, {{0x100, 0x10}});
  const Address cells = b.target().read_pointer(map_at + 16);
  for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 40}) {
    b.memory().at(cells).pointer(count);
    const Target target = b.target();
    CHECK(fault_of([&] { EntryPointMap(target, map_at).find(0x100); })->kind() == ErrorKind::corrupt);
  }
  b.types().global("HashMapSlotsPerBucket", 8);
  const Target target = b.target();
  CHECK(fault_of([&] { EntryPointMap(target, map_at); })->kind() == ErrorKind::unsupported_contract);
}

TEST_CASE("the hot/cold map") {
  for (const Platform& platform : execution_platforms()) {
    MemoryBuilder memory(platform);
    const Address at = memory.allocate(64);
    MemoryCursor cursor = memory.at(at);
    for (const std::uint32_t value : {0x100, 0x10, 0x200, 0x20, 0x300, 0x30, 0x400, 0x40}) cursor.u32(value);
    const Target target(memory, ContractDescriptor{.platform = platform}, platform);
    const HotColdMap map(target, at, 8, 0x500);
    for (const std::uint32_t i : {1u, 2u, 3u, 4u}) {
      CHECK(map.hot_index(i * 0x10) == i * 0x10);
      CHECK(map.hot_index(i * 0x100) == i * 0x10);
      REQUIRE(map.cold_range(i * 0x10));
      CHECK(map.cold_range(i * 0x10)->first == i * 0x100);
      CHECK(map.cold_range(i * 0x10)->last == (i + 1) * 0x100 - 1);
    }
    CHECK(map.hot_index(0x110) == 0x10); // a cold funclet
    CHECK(map.hot_index(0x4ff) == 0x40);
    CHECK_FALSE(map.cold_range(0x11)); // hot, not in the map
    CHECK(map.hot_count() == 0x100);

    const HotColdMap two(target, at, 4, 0x500);
    CHECK(two.hot_index(0x30) == 0x30);
    CHECK_FALSE(two.cold_range(0x30));
    const HotColdMap none(target, 0, 0, 0x500);
    CHECK(none.hot_index(0x30) == 0x30);
    CHECK_FALSE(none.cold_range(0x30));
    // Indices that the table does not have.
    CHECK(fault_of([&] { HotColdMap(target, at, 8, 0x300).cold_range(0x40); })->kind() == ErrorKind::corrupt);
  }
}

TEST_CASE("runtime functions are found and measured") {
  const std::vector<std::uint32_t> begins{0x100, 0x1f0, 0x1000, 0x2000, 0xa000};
  const std::vector<std::uint32_t> lengths{0xf0, 0x100, 0x100, 0x100, 0x100};
  for (Platform platform : all_platforms()) {
    const bool wide = platform.pointer_size == 8;
    // By EndAddress, by FunctionLength, by the 18 bits of a header.
    for (const Cpu cpu : wide ? std::vector{Cpu::x64, Cpu::arm64} : std::vector{Cpu::x86, Cpu::arm}) {
      platform.cpu = cpu;
      INFO(to_string(platform) << " " << to_string(cpu));
      ExecutionBuilder b(platform);
      const std::uint64_t stride = b.types().size_of("RuntimeFunction");
      const Address base = 0x40'0000, table = 0x40'8000, data = 0x40'9000;
      MemoryCursor entry = b.memory().at(table);
      for (std::size_t i = 0; i < begins.size(); ++i) {
        entry.u32(begins[i] | (cpu == Cpu::arm ? 1 : 0));
        if (stride == 12) entry.u32(begins[i] + lengths[i]);
        entry.u32(static_cast<std::uint32_t>(data - base + 16 * i));
        const std::uint32_t unit = wide ? 4 : 2;
        b.memory().at(data + 16 * i).u32(cpu == Cpu::x86 ? lengths[i] : 0xABC0'0000u | lengths[i] / unit);
      }
      entry.u32(0xFFFF'FFFF); // not counted, never read
      const Target target = b.target();
      const RuntimeFunctions functions(target);
      const auto count = static_cast<std::uint32_t>(begins.size());
      for (std::uint32_t i = 0; i < count; ++i) {
        CHECK(functions.find(table, count, begins[i]) == i);
        CHECK(functions.begin(table, i) == begins[i]);
        CHECK(functions.length(table, i, base) == lengths[i]);
      }
      CHECK(functions.find(table, count, 0x1ef) == 0u);
      CHECK(functions.find(table, count, 0xFFFF'FFF0) == 4u);
      CHECK_FALSE(functions.find(table, count, 0xff));
      CHECK_FALSE(functions.find(table, 0, 0x100));
    }
  }
}

TEST_CASE("runtime functions of a large table") {
  ExecutionBuilder b({.pointer_size = 8, .cpu = Cpu::arm64});
  const Address table = 0x40'0000;
  constexpr std::uint32_t count = 5000;
  MemoryCursor entry = b.memory().at(table);
  for (std::uint32_t i = 0; i < count; ++i) entry.u32(0x1000 + 16 * i).u32(0);
  const Target target = b.target();
  const RuntimeFunctions functions(target);
  for (std::uint32_t i = 0; i < count; i += 7) {
    REQUIRE(functions.find(table, count, 0x1000 + 16 * i) == i);
    REQUIRE(functions.find(table, count, 0x1000 + 16 * i + 15) == i);
  }
  for (std::uint32_t n = 1; n < 40; ++n)
    for (std::uint32_t i = 0; i < n; ++i) REQUIRE(functions.find(table, n, 0x1000 + 16 * i + 3) == i);
}

TEST_CASE("sizes of unwind data") {
  struct Case {
    Cpu cpu;
    std::vector<unsigned> words;
    std::uint64_t size;
  };
  const auto arm64 = [](unsigned words, unsigned epilogs, unsigned e) {
    return words << 27 | epilogs << 22 | e << 21 | 1u << 20;
  };
  const auto arm = [](unsigned words, unsigned epilogs, unsigned e) {
    return words << 28 | epilogs << 23 | e << 21 | 1u << 20;
  };
  const std::vector<Case> cases{
      {Cpu::x86, {0x123}, 4},
      {Cpu::x64, {0x0000'0019}, 8},  // no codes
      {Cpu::x64, {0x0001'0019}, 12}, // one code, rounded up
      {Cpu::x64, {0x0002'0019}, 12},
      {Cpu::x64, {0x0003'0019}, 16},
      {Cpu::arm64, {arm64(2, 0, 1)}, 4 + 8 + 4},
      {Cpu::arm64, {arm64(2, 3, 1)}, 4 + 8 + 4},      // E: the count is an index
      {Cpu::arm64, {arm64(2, 3, 0)}, 4 + 12 + 8 + 4}, // scopes
      {Cpu::arm64, {arm64(0, 0, 0), 5u << 16 | 40}, 8 + 160 + 20 + 4},
      {Cpu::arm64, {arm64(0, 0, 1), 5u << 16 | 40}, 8 + 20 + 4},
      {Cpu::arm, {arm(2, 0, 1)}, 4 + 8 + 4},
      {Cpu::arm, {arm(2, 3, 0)}, 4 + 12 + 8 + 4},
      {Cpu::arm, {arm(0, 0, 0), 5u << 16 | 40}, 8 + 160 + 20 + 4},
      {Cpu::loongarch64, {arm64(2, 3, 0)}, 4 + 12 + 8 + 4},
      {Cpu::loongarch64, {arm64(0, 7, 0), 5u << 16 | 2}, 8 + 8 + 20 + 4},
      {Cpu::riscv64, {arm64(2, 3, 1)}, 4 + 8 + 4},
      {Cpu::riscv64, {arm64(0, 0, 1), 5u << 16 | 2}, 8 + 20 + 4},
  };
  for (const Case& one : cases) {
    const bool wide = one.cpu != Cpu::x86 && one.cpu != Cpu::arm;
    ExecutionBuilder b({.pointer_size = wide ? 8u : 4u, .cpu = one.cpu});
    MemoryCursor cursor = b.memory().at(0x5000);
    for (const unsigned word : one.words) cursor.u32(word);
    const Target target = b.target();
    INFO(to_string(one.cpu) << " " << one.words[0]);
    CHECK(RuntimeFunctions(target).unwind_data_size(0x5000) == one.size);
  }
  ExecutionBuilder b({.pointer_size = 8, .cpu = Cpu::unknown});
  const Target target = b.target();
  CHECK(fault_of([&] { RuntimeFunctions(target).unwind_data_size(0x5000); })->kind() ==
        ErrorKind::unsupported_contract);
}

TEST_CASE("fragments of large functions") {
  const auto make = [](Cpu cpu, std::vector<unsigned> words) {
    ExecutionBuilder b({.pointer_size = cpu == Cpu::arm ? 4u : 8u, .cpu = cpu});
    b.memory().at(0x7000).u32(0x100).u32(0x1000);
    MemoryCursor cursor = b.memory().at(0x5000 + 0x1000);
    for (const unsigned word : words) cursor.u32(word);
    const Target target = b.target();
    return RuntimeFunctions(target).is_fragment(0x7000, 0, 0x5000);
  };
  CHECK(make(Cpu::arm64, {1u << 27 | 1u << 21 | 0x40, 0xE4E4'E4E5}));
  CHECK_FALSE(make(Cpu::arm64, {1u << 27 | 1u << 21 | 0x40, 0xE4E4'E4E1}));
  CHECK(make(Cpu::arm64, {1u << 27 | 2u << 22 | 0x40, 0, 0, 0xE4E4'E4E5})); // behind two scopes
  CHECK_FALSE(make(Cpu::arm64, {1u << 27 | 2u << 22 | 0x40, 0xE5, 0xE5, 0xE4E4'E4E1}));
  CHECK(make(Cpu::arm64, {0x40, 1u << 16 | 1, 0, 0xE5}));
  CHECK(make(Cpu::arm, {1u << 28 | 1u << 22 | 0x40}));
  CHECK_FALSE(make(Cpu::arm, {1u << 28 | 0x40}));
  CHECK_FALSE(make(Cpu::x64, {0xE5}));
}

TEST_CASE("code lengths from GC info") {
  for (const Cpu cpu : {Cpu::x64, Cpu::arm64, Cpu::arm, Cpu::loongarch64, Cpu::x86}) {
    const bool wide = cpu != Cpu::x86 && cpu != Cpu::arm;
    for (const unsigned version : {2u, 3u, 4u}) {
      for (const bool fat : {false, true}) {
        for (const std::uint64_t length :
             {4u, 0x7cu, 0x80u, 0x100u, 0x3fcu, 0x400u, 0x450u, 0x1'0000u, 0x123'4560u}) {
          MemoryBuilder memory({.pointer_size = wide ? 8u : 4u, .cpu = cpu});
          const Address at = memory.place(gc_info_bytes(cpu, version, length, fat));
          const Target target(memory, ContractDescriptor{.platform = memory.platform()}, memory.platform());
          INFO(to_string(cpu) << " version " << version << (fat ? " fat " : " slim ") << length);
          CHECK(read_code_length(target, at, version) == length);
        }
      }
    }
  }
}

TEST_CASE("GC info that is cut or endless") {
  MemoryBuilder memory({.pointer_size = 8, .cpu = Cpu::x64});
  const Target target(memory, ContractDescriptor{.platform = memory.platform()}, memory.platform());
  memory.at(0x1000).fill(64, 0xFF);
  CHECK(fault_of([&] { read_code_length(target, 0x1000, 4); })->kind() == ErrorKind::corrupt);
  memory.at(0x2000).fill(64, 0);
  CHECK(fault_of([&] { read_code_length(target, 0x2000, 4); })->kind() == ErrorKind::corrupt); // length 0
  memory.at(0x3000).u8(0xFC);
  const auto cut = fault_of([&] { read_code_length(target, 0x3000, 4); });
  CHECK(cut->kind() == ErrorKind::memory_missing);
  CHECK(cut->address() == 0x3001);
  CHECK(fault_of([&] { read_code_length(target, 0x4000, 4); })->address() == 0x4000);
}
