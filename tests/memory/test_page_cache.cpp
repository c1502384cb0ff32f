#include "core/memory/counting_reader.h"
#include "core/memory/failing_reader.h"
#include "core/memory/page_cache.h"
#include "core/memory/recording_reader.h"
#include "tests/memory/sparse_memory.h"
#include "tests/support/elf_core_builder.h"

#include <catch2/catch.hpp>
#include <random>

using namespace clr;
using test::pattern;
using test::SparseMemory;

namespace {
std::vector<std::byte> read_some(MemoryReader& memory, Address at, std::size_t size) {
  std::vector<std::byte> out(size, std::byte{0xee});
  out.resize(memory.read_some(at, out));
  return out;
}
} // namespace

TEST_CASE("A page is fetched once and serves every read within it") {
  SparseMemory memory;
  memory.add(0x10000, pattern(0x4000));
  CountingReader counter(memory);
  PageCache cache(counter);

  std::uint64_t value = 0;
  for (Address at = 0x10000; at <= 0x10ff8; ++at) {
    cache.read(at, std::as_writable_bytes(std::span(&value, 1)));
    REQUIRE(static_cast<std::byte>(value) == pattern(0x4000)[at - 0x10000]);
  }
  CHECK(counter.reads() == 1);
  CHECK(counter.bytes() == PageCache::page_size);
  CHECK(cache.pages() == 1);

  // Across a boundary: the known page is not asked for again.
  CHECK(read_some(cache, 0x10ffc, 8) == std::vector(pattern(8, 0xffc % 251)));
  CHECK(counter.reads() == 2);
  CHECK(read_some(cache, 0x10ffc, 8).size() == 8);
  CHECK(counter.reads() == 2);

  cache.clear();
  CHECK(read_some(cache, 0x10ffc, 8).size() == 8);
  CHECK(counter.reads() == 3);
}

TEST_CASE("A long read fetches its unknown pages together") {
  SparseMemory memory;
  memory.add(0, pattern(256 * 4096));
  CountingReader counter(memory);
  PageCache cache(counter);
  read_some(cache, 10 * 4096, 1);
  counter.reset();
  CHECK(read_some(cache, 0, 40 * 4096) == pattern(40 * 4096));
  CHECK(counter.reads() == 2); // pages 0 to 9, and 11 to 39
  CHECK(counter.bytes() == 39 * 4096);
  counter.reset();
  CHECK(read_some(cache, 0, 256 * 4096) == pattern(256 * 4096));
  CHECK(counter.reads() == 4); // 216 pages, 64 at a time
}

TEST_CASE("The first missing address is exact and remembered") {
  SparseMemory memory;
  memory.add(0x1000, pattern(0x1234));
  CountingReader counter(memory);
  PageCache cache(counter);
  CHECK(read_some(cache, 0x1000, 0x3000) == pattern(0x1234));
  const auto reads = counter.reads();
  std::byte out[16];
  try {
    cache.read(0x222c, out);
    FAIL("read bytes that are not there");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::memory_missing);
    CHECK(error.address() == 0x2234);
  }
  CHECK(read_some(cache, 0x2230, 4).size() == 4);
  CHECK(read_some(cache, 0x2234, 4).empty());
  CHECK(counter.reads() == reads);

  // A page of which nothing is there.
  CHECK(read_some(cache, 0x9008, 8).empty());
  const auto before = counter.reads();
  CHECK(read_some(cache, 0x9008, 8).empty());
  CHECK(read_some(cache, 0x9000, 8).empty());
  CHECK(counter.reads() == before);
}

TEST_CASE("Readable bytes behind a hole of a page are served") {
  SparseMemory memory;
  memory.add(0x1000, pattern(0x100, 1));
  memory.add(0x1200, pattern(0x80, 2));
  memory.add(0x1f00, pattern(0x300, 3));
  PageCache cache(memory);
  CHECK(read_some(cache, 0x1240, 0x100) == pattern(0x40, 2 + 0x40));
  CHECK(read_some(cache, 0x10f0, 0x20) == pattern(0x10, (1 + 0xf0) % 251));
  CHECK(read_some(cache, 0x1180, 8).empty());
  CHECK(read_some(cache, 0x1f80, 0x100) == pattern(0x100, 3 + 0x80));
  CHECK(read_some(cache, 0x1200, 1) == pattern(1, 2));
}

TEST_CASE("A cache answers as its source does, whatever is asked") {
  std::mt19937 random(7);
  SparseMemory memory;
  Address at = 0x7000;
  for (int run = 0; run < 40; ++run) {
    const std::size_t size = 1 + random() % 9000;
    memory.add(at, pattern(size, static_cast<unsigned>(random() % 251)));
    at += size + random() % 3 * (random() % 5000);
  }
  memory.lend(GENERATE(false, true));
  PageCache cache(memory);
  for (int i = 0; i < 20000; ++i) {
    const Address address = 0x6000 + random() % (at - 0x5000);
    const std::size_t size = random() % (i % 100 == 0 ? 50000 : 40);
    REQUIRE(read_some(cache, address, size) == read_some(memory, address, size));
  }
}

TEST_CASE("The end of the address space does not wrap") {
  SparseMemory memory;
  memory.add(~Address{0} - 0xfff, pattern(0xfff));
  memory.add(0, pattern(0x1000));
  PageCache cache(memory);
  CHECK(read_some(cache, ~Address{0} - 7, 64).size() == 7);
}

TEST_CASE("What the source lends is passed on and not copied") {
  SparseMemory memory;
  memory.add(0x1000, pattern(0x2000));
  PageCache cache(memory);
  CHECK(cache.view(0x1000, 0x2000).empty());
  memory.lend(true);
  CHECK(cache.view(0x1000, 0x2000).data() == memory.view(0x1000, 1).data());
  CHECK(read_some(cache, 0x1ff8, 16) == pattern(16, 0xff8 % 251));
}

TEST_CASE("A failing reader fails the read that was chosen") {
  SparseMemory memory;
  memory.add(0x1000, pattern(0x1000));
  FailingReader once(memory, 2);
  CHECK(read_some(once, 0x1000, 8).size() == 8);
  CHECK(read_some(once, 0x1000, 8).empty());
  CHECK(read_some(once, 0x1000, 8).size() == 8);
  CHECK(once.reads() == 3);
  once.fail_at(1);
  CHECK(read_some(once, 0x1000, 8).empty());
  once.fail_at(0);
  CHECK(read_some(once, 0x1000, 8).size() == 8);
  FailingReader stays(memory, 2, true);
  CHECK(read_some(stays, 0x1000, 8).size() == 8);
  CHECK(read_some(stays, 0x1000, 8).empty());
  CHECK(read_some(stays, 0x1000, 8).empty());
}

TEST_CASE("A recording holds the pages that were read, and no others") {
  SparseMemory memory;
  memory.add(0x1000, pattern(0x8000));
  memory.lend(true);
  RecordingReader recording(memory);
  CHECK(recording.view(0x1000, 8).empty());
  read_some(recording, 0x1ffc, 8);
  read_some(recording, 0x5010, 1);
  read_some(recording, 0x20000, 8); // nothing there
  CHECK(recording.ranges() == std::vector<MemoryRange>{{0x1000, 0x2000}, {0x5000, 0x1000}});
  recording.record(0x3001, 0x2000);
  CHECK(recording.ranges() == std::vector<MemoryRange>{{0x1000, 0x5000}});

  // Terabytes cost no more than a page, also when the same are recorded again and again.
  constexpr std::uint64_t many = std::uint64_t{1} << 42;
  for (unsigned i = 0; i < 10'000; ++i) recording.record(0x10'0000'0000'0800, many);
  recording.record(0x5800, many);
  CHECK(recording.ranges() ==
        std::vector<MemoryRange>{{0x1000, many + 0x5000}, {0x10'0000'0000'0000, many + 0x1000}});
  recording.record(0, ~std::uint64_t{0});
  CHECK(recording.ranges() == std::vector<MemoryRange>{{0, ~std::uint64_t{0xfff}}});
}

TEST_CASE("Ranges merge where they touch") {
  CHECK(merge_ranges({{0x30, 0x10}, {0x10, 0x10}, {0x20, 0}, {0x20, 0x8}, {0x12, 4}}) ==
        std::vector<MemoryRange>{{0x10, 0x18}, {0x30, 0x10}});
  const Address top = ~Address{0} - 0xf;
  CHECK(merge_ranges({{top, 0x10}, {top - 0x10, 0x10}}) == std::vector<MemoryRange>{{top - 0x10, 0x20}});
}
