#include "core/memory/core_writer.h"
#include "core/memory/failing_reader.h"
#include "core/memory/module_list.h"
#include "core/memory/recording_reader.h"
#include "tests/memory/sparse_memory.h"
#include "tests/memory/temporary_directory.h"
#include "tests/support/elf_core_builder.h"
#include "tests/support/elf_module_builder.h"

#include <catch2/catch.hpp>
#include <numeric>

using namespace clr;
using test::ElfCoreBuilder;
using test::pattern;
using test::SparseMemory;
using test::TemporaryDirectory;

namespace {

std::vector<std::byte> read_some(MemoryReader& memory, Address at, std::size_t size) {
  std::vector<std::byte> out(size, std::byte{0xee});
  out.resize(memory.read_some(at, out));
  return out;
}

} // namespace

TEST_CASE("A core that was written holds the memory, access and holes that it was given") {
  const Platform platform = GENERATE(Platform{8, ByteOrder::little, Cpu::x64, Os::unix_like},
                                     Platform{8, ByteOrder::big, Cpu::arm64, Os::unix_like},
                                     Platform{4, ByteOrder::little, Cpu::x86, Os::unix_like},
                                     Platform{4, ByteOrder::big, Cpu::arm, Os::unix_like});
  const TemporaryDirectory directory;
  SparseMemory memory;
  memory.add(0x10000, pattern(0x3000, 1));
  memory.add(0x20000, pattern(0x1800, 2));
  memory.add(0x23000, pattern(0x1000, 3));
  const std::string path = directory.path("made.core");
  const WrittenCore written = write_core(path, platform, {},
                                         {{{0x20000, 0x4000}, true, true, false},
                                          {{0x10000, 0x2000}, true, false, true},
                                          {{0x11000, 0x2000}, true, false, true},
                                          {{0x90000, 0x1000}}},
                                         memory);
  CHECK(written.missing == std::vector<MemoryRange>{{0x21800, 0x1800}, {0x90000, 0x1000}});
  CHECK(written.memory_size == 0x3000 + 0x1800 + 0x1000);
  CHECK(written.segments == 3);
  CHECK(std::filesystem::status(path).permissions() ==
        (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));

  const auto core = ElfCore::open(path);
  CHECK(core->file_size() == written.file_size);
  CHECK(core->platform() == platform);
  REQUIRE(core->segments().size() == 3);
  CHECK(core->segments()[0].executable);
  CHECK_FALSE(core->segments()[0].writable);
  CHECK(core->segments()[1].writable);
  CHECK(read_some(*core, 0x10000, 0x5000) == pattern(0x3000, 1));
  CHECK(read_some(*core, 0x20000, 0x4000) == pattern(0x1800, 2));
  CHECK(read_some(*core, 0x23000, 0x4000) == pattern(0x1000, 3));
  CHECK(core->cut_bytes() == 0);
}

TEST_CASE("Notes that are made, and notes that are copied, say the same") {
  const Cpu cpu = GENERATE(Cpu::x64, Cpu::arm64);
  const Platform platform{8, ByteOrder::little, cpu, Os::unix_like};
  const TemporaryDirectory directory;
  CoreNotes process;
  for (std::uint64_t id : {41u, 42u, 43u}) {
    ThreadRegisters thread{.os_id = id,
                           .values = std::vector<std::uint64_t>(cpu == Cpu::x64 ? 17 : 34),
                           .signal = id == 41 ? 11 : 0};
    std::iota(thread.values.begin(), thread.values.end(), id << 32);
    process.threads.push_back(thread);
  }
  process.process_id = 40;
  process.name = "a program with a long name";
  process.arguments = "prog --flag";
  process.signal = SignalInfo{11, 1, 0x1234};
  process.auxv = {{3, 0x400040}, {9, 0x400100}};
  process.files = {{0x400000, 0x401000, 0x2000, "/opt/prog"}, {0x500000, 0x501000, 0x123, "/opt/x"}};
  SparseMemory memory;
  memory.add(0x400000, pattern(0x1000));

  std::string path = directory.path("made.core");
  write_core(path, platform, make_notes(platform, process), {{{0x400000, 0x1000}}}, memory);
  const auto made = ElfCore::open(path);
  path = directory.path("copied.core");
  write_core(path, platform, copy_notes(*made), {{{0x400000, 0x1000}}}, memory);
  const auto copied = ElfCore::open(path);
  for (const ElfCore* core : {made.get(), copied.get()}) {
    CHECK(core->problems().empty());
    const CoreNotes& notes = core->notes();
    REQUIRE(notes.threads.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(notes.threads[i].os_id == process.threads[i].os_id);
      CHECK(notes.threads[i].signal == process.threads[i].signal);
      CHECK(notes.threads[i].values == process.threads[i].values);
    }
    CHECK(notes.process_id == 40);
    CHECK(notes.name == "a program with ");
    CHECK(notes.arguments == "prog --flag");
    CHECK(notes.signal->address == 0x1234);
    CHECK(notes.auxv == process.auxv);
    REQUIRE(notes.files.size() == 2);
    CHECK(notes.files[1].path == "/opt/x");
    CHECK(notes.files[1].file_offset == 0x123);
  }
  CHECK_THROWS_AS(make_notes({4, ByteOrder::little, Cpu::x86, Os::unix_like}, process), Error);
}

TEST_CASE("Access is that of the core the memory came from") {
  const auto bytes = ElfCoreBuilder({8, ByteOrder::little, Cpu::x64, Os::unix_like})
                         .segment(0x1000, pattern(0x1000), 0x2000, 5)
                         .segment(0x3000, pattern(0x1000), 0, 6)
                         .build();
  const ElfCore core(bytes);
  const auto ranges = with_access_of(core.segments(), {{0x2000, 0x4000}, {0x800, 0x1000}});
  REQUIRE(ranges.size() == 5);
  CHECK(ranges[0].range == MemoryRange{0x800, 0x800});
  CHECK_FALSE(ranges[0].executable);
  CHECK(ranges[1].range == MemoryRange{0x1000, 0x800});
  CHECK(ranges[1].executable);
  CHECK(ranges[2].range == MemoryRange{0x2000, 0x1000});
  CHECK(ranges[3].range == MemoryRange{0x3000, 0x1000});
  CHECK(ranges[3].writable);
  CHECK(ranges[4].range == MemoryRange{0x4000, 0x2000});
  CHECK_FALSE(ranges[4].writable);
}

TEST_CASE("More segments than a program header count can hold") {
  const TemporaryDirectory directory;
  SparseMemory memory;
  std::vector<CoreWriteRange> ranges;
  constexpr std::size_t count = 66'000;
  for (std::size_t i = 0; i < count; ++i) {
    memory.add(i * 0x2000, pattern(8, static_cast<unsigned>(i % 200)));
    ranges.push_back({{i * 0x2000, 8}});
  }
  const std::string path = directory.path("many.core");
  CHECK(write_core(path, {8, ByteOrder::little, Cpu::x64, Os::unix_like}, {}, ranges, memory).segments ==
        count);
  const auto core = ElfCore::open(path);
  CHECK(core->segments().size() == count);
  CHECK(read_some(*core, (count - 1) * 0x2000, 8) == pattern(8, (count - 1) % 200));
}

TEST_CASE("The last page of the address space, of which nothing can be read, is missing and no more") {
  const Platform platform{8, ByteOrder::little, Cpu::x64, Os::unix_like};
  const TemporaryDirectory directory;
  constexpr Address last_page = ~Address{0} - 0xfff;
  SparseMemory memory;
  memory.add(0x1000, pattern(0x1000));
  for (const std::vector<std::byte>& there : {pattern(0), pattern(0x10)}) {
    memory.add(last_page, there);
    const WrittenCore written =
        write_core(directory.path("a.core"), platform, {},
                   {{{0x1000, 0x1000}}, {{last_page - 0x1000, 0x2000}, true, true, false}}, memory);
    CHECK(written.memory_size == 0x1000 + there.size());
    // The very last byte has no range that ends behind it.
    using Ranges = std::vector<MemoryRange>;
    CHECK(written.missing == (there.empty()
                                  ? Ranges{{last_page - 0x1000, 0x1fff}}
                                  : Ranges{{last_page - 0x1000, 0x1000}, {last_page + 0x10, 0xfef}}));
  }
}

TEST_CASE("A core that cannot be written leaves nothing behind") {
  const TemporaryDirectory directory;
  const Platform platform{8, ByteOrder::little, Cpu::x64, Os::unix_like};
  SparseMemory memory;
  memory.add(0x1000, pattern(0x1000));
  CHECK_THROWS_AS(write_core(directory.path("no/such/folder"), platform, {}, {{{0x1000, 0x1000}}}, memory),
                  Error);
  const std::string path = directory.path("a.core");
  FailingReader failing(memory, 2); // the second pass
  CHECK_THROWS_AS(write_core(path, platform, {}, {{{0x1000, 0x1000}}}, failing), Error);
  CHECK_THROWS_WITH(write_core(path, platform, {}, {{{0x1000, 0x1000}}}, memory, [] { return true; }),
                    Catch::Contains("stopped"));
  unsigned asked = 0; // also within a range of which nothing is there
  CHECK_THROWS_WITH(
      write_core(path, platform, {}, {{{0x10'0000, 0x10'0000}}}, memory, [&] { return ++asked > 3; }),
      Catch::Contains("stopped"));
  CHECK_THROWS_WITH(write_core(path, platform, {}, {{{0, ~0ull}}}, memory),
                    Catch::Contains("too much memory"));
  CHECK(std::filesystem::is_empty(directory.path()));
}

TEST_CASE("What a debugger reads first becomes part of a recording") {
  const Platform platform{8, ByteOrder::little, Cpu::x64, Os::unix_like};
  const test::ElfModuleBuilder builder{.platform = platform};
  SparseMemory memory;
  memory.add(0x70'0000, builder.loaded(0x70'0000, true));
  memory.add(0x80'0000, builder.loaded(0x80'0000, true));
  RecordingReader recording(memory);
  touch_for_debugger(recording, {{.path = "/lib/libmade.so", .base = 0x70'0000},
                                 {.path = "/lib/gone.so", .base = 0x78'0000},
                                 {.path = "[vdso]", .base = 0x80'0000}});
  CHECK(recording.ranges() ==
        std::vector<MemoryRange>{{0x70'0000, 0x1000}, {0x70'3000, 0x1000}, {0x80'0000, 0x5000}});
  RecordingReader nothing(memory);
  touch_for_debugger(nothing, {{.path = "/lib/libmade.so", .base = 0x70'0000}}, [] { return true; });
  CHECK(nothing.ranges().empty());
}
