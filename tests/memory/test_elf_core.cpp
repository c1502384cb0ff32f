#include "core/memory/elf_core.h"
#include "tests/support/elf_core_builder.h"

#include <catch2/catch.hpp>
#include <elf.h>
#include <fmt/format.h>
#include <numeric>

using namespace clr;
using test::ElfCoreBuilder;
using test::pattern;

namespace {

Platform platform_of(Cpu cpu) {
  return GENERATE_COPY(
      Platform{8, ByteOrder::little, cpu, Os::unix_like}, Platform{8, ByteOrder::big, cpu, Os::unix_like},
      Platform{4, ByteOrder::little, cpu, Os::unix_like}, Platform{4, ByteOrder::big, cpu, Os::unix_like});
}

std::vector<std::byte> read_some(MemoryReader& memory, Address at, std::size_t size) {
  std::vector<std::byte> out(size, std::byte{0xee});
  out.resize(memory.read_some(at, out));
  return out;
}

bool has_problem(const ElfCore& core, std::string_view text) {
  for (const std::string& problem : core.problems())
    if (problem.find(text) != std::string::npos) return true;
  return false;
}

std::vector<std::uint64_t> registers(std::size_t count) {
  std::vector<std::uint64_t> values(count);
  std::iota(values.begin(), values.end(), 0x1111'0000'0000u);
  return values;
}

const Platform x64{8, ByteOrder::little, Cpu::x64, Os::unix_like};
const Platform arm64{8, ByteOrder::little, Cpu::arm64, Os::unix_like};

} // namespace

TEST_CASE("Memory of a core is what its segments hold, in every class and byte order") {
  const Platform platform = platform_of(Cpu::arm64);
  const auto bytes = ElfCoreBuilder(platform)
                         .segment(0x8000, pattern(0x1000, 9), 0x3000, 5)
                         .segment(0x2000, pattern(0x1800, 1))
                         .segment(0x5000, {}, 0x1000, 4)
                         .segment(0x3800, pattern(0x800, 2))
                         .build();
  ElfCore core(bytes);
  CHECK(core.platform() == platform);
  REQUIRE(core.segments().size() == 4);
  CHECK(core.segments()[0].begin == 0x2000);
  CHECK(core.segments()[3].executable);
  CHECK_FALSE(core.segments()[3].writable);
  CHECK(core.segments()[3].memory_size == 0x3000);
  CHECK(core.segments()[3].file_size == 0x1000);

  CHECK(read_some(core, 0x2000, 0x1800) == pattern(0x1800, 1));
  CHECK(read_some(core, 0x37f8, 16).size() == 16); // across segments that touch
  CHECK(read_some(core, 0x3ff0, 0x100).size() == 0x10);
  CHECK(read_some(core, 0x1fff, 2).empty());
  CHECK(read_some(core, 0x5000, 1).empty());                        // not dumped
  CHECK(read_some(core, 0x8ff0, 0x20) == pattern(0x10, 9 + 0xff0)); // the tail was not dumped: missing, not 0

  CHECK(core.view(0x2010, 16).data() == bytes.data() + (core.segments()[0].file_offset + 0x10));
  CHECK(core.view(0x37f8, 16).empty());
  CHECK(core.view(0x8ff8, 16).empty());
  CHECK(core.view(0x100, 1).empty());

  CHECK(core.readable_ranges() ==
        std::vector<MemoryRange>{{0x2000, 0x1800}, {0x3800, 0x800}, {0x8000, 0x1000}});
  CHECK(core.segment_at(0x9fff)->begin == 0x8000);
  CHECK(core.segment_at(0xb000) == nullptr);
  CHECK(core.segment_at(0) == nullptr);
  CHECK(core.cut_bytes() == 0);
  CHECK(core.problems() == std::vector<std::string>{"no thread notes: the core has no note segment"});
}

TEST_CASE("Threads, process, signal, auxiliary vector and files of a core") {
  const Cpu cpu = GENERATE(Cpu::x64, Cpu::arm64);
  const Platform platform{8, ByteOrder::little, cpu, Os::unix_like};
  const auto values = registers(cpu == Cpu::x64 ? 17 : 34);
  const auto bytes = ElfCoreBuilder(platform)
                         .thread(4711, 11, values)
                         .process(4700, "many", "many --threads 4 ")
                         .signal(11, 1, 0xdead'0000)
                         .auxv({{3, 0x400040}, {9, 0x401000}})
                         .files({{0x7000, 0x9000, 0x1000, "/opt/b.so"}, {0x4000, 0x6000, 0, "/opt/a b.dll"}})
                         .note("LINUX", 0x202, pattern(832))
                         .thread(4712, 0, values)
                         .signal(5, 2, 3)
                         .segment(0x4000, pattern(0x1000))
                         .build();
  const ElfCore core(bytes);
  CHECK(core.problems().empty());
  REQUIRE(core.threads().size() == 2);
  CHECK(core.threads()[0].os_id == 4711);
  CHECK(core.threads()[0].signal == 11);
  CHECK(core.threads()[0].values == values);
  CHECK(core.threads()[1].os_id == 4712);
  CHECK(core.threads()[1].signal == 0);
  CHECK(core.notes().process_id == 4700);
  CHECK(core.notes().name == "many");
  CHECK(core.notes().arguments == "many --threads 4");
  REQUIRE(core.notes().signal);
  CHECK(core.notes().signal->number == 11);
  CHECK(core.notes().signal->code == 1);
  CHECK(core.notes().signal->address == 0xdead'0000);
  CHECK(core.notes().auxv == std::map<std::uint64_t, std::uint64_t>{{3, 0x400040}, {9, 0x401000}});
  REQUIRE(core.file_mappings().size() == 2);
  CHECK(core.file_mappings()[0].begin == 0x4000);
  CHECK(core.file_mappings()[0].path == "/opt/a b.dll");
  CHECK(core.file_mappings()[1].end == 0x9000);
  CHECK(core.file_mappings()[1].file_offset == 0x1000);
  CHECK(core.notes().all.size() == 8);
}

TEST_CASE("Notes of 32-bit cores of both byte orders") {
  const Platform platform = platform_of(Cpu::arm);
  const auto bytes = ElfCoreBuilder(platform)
                         .thread(77, 6, registers(18))
                         .process(70, "arm", "arm -x")
                         .signal(6, -6, 0x1234)
                         .auxv({{3, 0x10034}})
                         .files({{0x10000, 0x12000, 0x2000, "/bin/arm"}})
                         .build();
  const ElfCore core(bytes);
  REQUIRE(core.threads().size() == 1);
  CHECK(core.threads()[0].os_id == 77);
  CHECK(core.threads()[0].signal == 6);
  CHECK(core.threads()[0].values.empty());
  CHECK(has_problem(core, "the registers of thread 77 are not there in a form that is known for arm"));
  CHECK(core.notes().process_id == 70);
  CHECK(core.notes().name == "arm");
  CHECK(core.notes().signal->code == -6);
  CHECK(core.notes().signal->address == 0x1234);
  CHECK(core.notes().auxv.at(3) == 0x10034);
  CHECK(core.file_mappings().at(0).file_offset == 0x2000);
}

TEST_CASE("A core that gdb wrote and that was cut has neither its end nor its notes") {
  auto bytes = ElfCoreBuilder(x64)
                   .thread(1, 0, registers(17))
                   .notes_last()
                   .segment(0x10000, pattern(0x2000))
                   .segment(0x20000, pattern(0x2000, 5))
                   .build();
  const std::size_t whole = bytes.size();
  CHECK(ElfCore(bytes).threads().size() == 1);
  bytes.resize(64 + 3 * 56 + 0x3000);
  ElfCore core(bytes);
  CHECK(read_some(core, 0x10000, 0x2000) == pattern(0x2000));
  CHECK(read_some(core, 0x20000, 0x2000) == pattern(0x1000, 5));
  CHECK(core.threads().empty());
  CHECK(core.cut_bytes() == 0x1000);
  CHECK(has_problem(core, "the file is cut"));
  CHECK(has_problem(core, "gdb writes the notes last"));
  CHECK(whole > bytes.size());
}

TEST_CASE("However a core is cut, it opens or says why not") {
  const Platform platform = platform_of(Cpu::arm64);
  const auto whole = ElfCoreBuilder(platform)
                         .thread(1, 0, registers(34))
                         .files({{0x10000, 0x12000, 0x2000, "/bin/arm"}})
                         .segment(0x10000, pattern(0x100))
                         .extended_count()
                         .build();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::vector<std::byte> bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    try {
      ElfCore core(bytes);
      CHECK_FALSE(core.problems().empty());
      const auto got = read_some(core, 0x10000, 0x200);
      CHECK(got == pattern(got.size()));
      CHECK(got.size() <= 0x100);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::corrupt);
      CHECK(size < (platform.pointer_size == 8 ? 64 : 52));
    }
  }
}

TEST_CASE("More than 65535 program headers") {
  const Platform platform = platform_of(Cpu::x64);
  ElfCoreBuilder builder(platform);
  constexpr std::size_t count = 70'000;
  for (std::size_t i = 0; i < count; ++i)
    builder.segment(0x10000 + i * 32, pattern(16, static_cast<unsigned>(i % 251)));
  builder.extended_count();
  auto bytes = builder.build();
  ElfCore core(bytes);
  REQUIRE(core.segments().size() == count);
  CHECK(read_some(core, 0x10000 + (count - 1) * 32, 32) == pattern(16, (count - 1) % 251));

  bytes.resize(bytes.size() - 1); // section header 0 is gone
  ElfCore cut(bytes);
  CHECK(cut.segments().size() == 65535);
  CHECK(has_problem(cut, "number of program headers"));
}

TEST_CASE("Lying sizes read nothing that is not there") {
  SECTION("a segment that claims more than the file has") {
    const auto bytes = ElfCoreBuilder(x64).segment(0x1000, pattern(0x10), ~0ull, 6, ~0ull).build();
    ElfCore core(bytes);
    CHECK(read_some(core, 0x1000, 0x100) == pattern(0x10));
    CHECK(has_problem(core, "the file is cut"));
  }
  SECTION("a segment that would wrap around the address space") {
    const auto bytes = ElfCoreBuilder(x64).segment(~0ull - 0xff, pattern(0x1000)).build();
    ElfCore core(bytes);
    CHECK(read_some(core, ~0ull - 0xff, 0x1000).size() == 0xff);
    CHECK(read_some(core, 0, 1).empty());
  }
  SECTION("segments that overlap") {
    const auto bytes = ElfCoreBuilder(x64)
                           .segment(0x1000, pattern(0x1000, 1))
                           .segment(0x1800, pattern(0x1000, 2))
                           .segment(0x1000, pattern(0x800, 3))
                           .build();
    ElfCore core(bytes);
    CHECK(read_some(core, 0x1000, 0x1000) == pattern(0x1000, 1));
    CHECK(read_some(core, 0x2000, 0x1000) == pattern(0x800, 2 + 0x800));
  }
  SECTION("segments that share their bytes of the file") {
    // Each begins 16 bytes behind the one before it in the file, and reaches to its end.
    constexpr std::size_t count = 2'700, size = 3u << 20;
    ElfCoreBuilder builder(x64);
    for (std::size_t i = 0; i < count; ++i)
      builder.segment(0x1000'0000 + i * size, pattern(16), size, 6, size);
    const auto bytes = builder.segment(0x1000, pattern(size, 7)).build();
    ElfCore core(bytes);
    std::uint64_t shown = 0;
    for (const MemoryRange& range : core.readable_ranges()) shown += range.size;
    CHECK(shown <= bytes.size() + ElfCore::max_shared_bytes);
    CHECK(shown > bytes.size());
    CHECK(has_problem(core, "segments share their bytes of the file"));
    CHECK(read_some(core, 0x1000, size) == pattern(size, 7));
    CHECK(read_some(core, 0x1000'0000 + (count - 1) * size, 1).empty());
    CHECK(core.next_readable(0x1000'0000 + (count - 1) * size) == ~Address{0});
  }
  SECTION("segments that share few of them") {
    const auto bytes = ElfCoreBuilder(x64)
                           .segment(0x1000, pattern(0x1000), 0x2000, 6, 0x2000)
                           .segment(0x8000, pattern(0x1000, 5))
                           .build();
    ElfCore core(bytes);
    CHECK(read_some(core, 0x2000, 0x2000) == pattern(0x1000, 5));
    CHECK(read_some(core, 0x8000, 0x2000) == pattern(0x1000, 5));
    CHECK_FALSE(has_problem(core, "segments share"));
  }
  SECTION("a file size beyond the memory size") {
    const auto bytes = ElfCoreBuilder(x64).segment(0x1000, pattern(0x1000), 0x800).build();
    ElfCore core(bytes);
    CHECK(read_some(core, 0x1000, 0x1000).size() == 0x800);
  }
  SECTION("notes") {
    const test::TargetBytes count = test::TargetBytes(x64).word(1ull << 61).word(4096).word(0).word(0);
    const auto bytes = ElfCoreBuilder(x64)
                           .note("CORE", 0x46494c45, count.bytes())
                           .note("CORE", 1, pattern(20))
                           .note("CORE", 3, pattern(20))
                           .note("CORE", 0x53494749, pattern(4))
                           .note("CORE", 6, pattern(9))
                           .build();
    const ElfCore core(bytes);
    CHECK(core.file_mappings().empty());
    CHECK(core.threads().empty());
    CHECK(has_problem(core, "impossible count"));
    CHECK(has_problem(core, "NT_PRSTATUS"));
    CHECK(has_problem(core, "NT_PRPSINFO"));
  }
  SECTION("notes without end") {
    test::TargetBytes auxiliary(x64);
    for (std::uint64_t i = 1; i < 4000; ++i) auxiliary.word(i).word(i);
    ElfCoreBuilder builder(x64);
    builder.note("CORE", 6, auxiliary.bytes());
    for (unsigned i = 0; i < 100; ++i) builder.note("CORE", 1, pattern(20));
    const ElfCore core(builder.build());
    CHECK(core.notes().auxv.size() == CoreNotes::max_auxiliary);
    CHECK(core.problems().size() <= CoreNotes::max_problems + 2); // two are not of notes
    CHECK(has_problem(core, "the auxiliary vector (NT_AUXV) is too long"));
    CHECK(has_problem(core, "more is wrong with the notes than is told"));
    CHECK(has_problem(core, "NT_PRSTATUS"));
  }
  SECTION("lists of mapped files that are too long") {
    std::vector<FileMapping> many(CoreNotes::max_file_mappings / 2 + 1, {0x1000, 0x2000, 0, "a"});
    const ElfCore core(ElfCoreBuilder(x64).files(many).files(many).build());
    CHECK(core.file_mappings().size() == CoreNotes::max_file_mappings);
    CHECK(has_problem(core, "only its first 1048576 were read"));
    const std::string name(4095, 'a');
    const std::size_t most = CoreNotes::max_name_bytes / name.size();
    const ElfCore named(
        ElfCoreBuilder(x64).files(std::vector<FileMapping>(most + 1, {0x1000, 0x2000, 0, name})).build());
    CHECK(named.file_mappings().size() == most);
    CHECK(has_problem(named, fmt::format("only its first {} were read", most)));
  }
  SECTION("mapped files with paths that no file has") {
    std::string names;
    for (unsigned i = 0; i < 300; ++i) names += "/a";
    const ElfCore core(ElfCoreBuilder(x64)
                           .files({{0x1000, 0x2000, 0, std::string(65536, '/')},
                                   {0x2000, 0x3000, 0, "/b"},
                                   {0x3000, 0x4000, 0, names}})
                           .build());
    REQUIRE(core.file_mappings().size() == 1);
    CHECK(core.file_mappings()[0].path == "/b");
    CHECK(has_problem(core, "impossible entries"));
  }
  SECTION("mappings that end before they begin, and offsets that overflow") {
    const auto bytes =
        ElfCoreBuilder(x64)
            .files({{0x2000, 0x1000, 0, "a"}, {0x1000, 0x2000, ~0ull, "b"}, {0x1000, 0x2000, 1, "c"}}, 1)
            .build();
    const ElfCore core(bytes);
    CHECK(core.file_mappings().size() == 2);
    CHECK(has_problem(core, "impossible entries"));
  }
}

TEST_CASE("Many note segments are told with one sentence of each kind") {
  // A core of nothing but PT_NOTE headers.
  const auto core_of = [](const std::vector<Elf64_Phdr>& segments, std::size_t size) {
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident,
                "\x7f"
                "ELF\2\1\1",
                7);
    header.e_type = ET_CORE;
    header.e_machine = EM_X86_64;
    header.e_phoff = sizeof(Elf64_Ehdr) + sizeof(Elf64_Shdr);
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = PN_XNUM;
    header.e_shoff = sizeof(Elf64_Ehdr);
    header.e_shentsize = sizeof(Elf64_Shdr);
    Elf64_Shdr count{};
    count.sh_info = static_cast<Elf64_Word>(segments.size());
    std::vector<std::byte> bytes(
        std::max<std::size_t>(size, header.e_phoff + segments.size() * sizeof(Elf64_Phdr)));
    std::memcpy(bytes.data(), &header, sizeof header);
    std::memcpy(bytes.data() + header.e_shoff, &count, sizeof count);
    std::memcpy(bytes.data() + header.e_phoff, segments.data(), segments.size() * sizeof(Elf64_Phdr));
    return bytes;
  };
  const auto note = [](std::uint64_t size) {
    return Elf64_Phdr{.p_type = PT_NOTE, .p_flags = PF_R, .p_offset = 0, .p_filesz = size, .p_align = 4};
  };
  SECTION("too many, each torn") {
    const auto bytes = core_of(std::vector<Elf64_Phdr>(ElfCore::max_note_segments + 7, note(8)), 0);
    const ElfCore core(bytes);
    CHECK(core.problems() ==
          std::vector<std::string>{"the core holds no memory", "only 65536 of 65543 note segments are used",
                                   "the notes end in the middle of one", "no thread notes"});
  }
  SECTION("empty ones") {
    const auto bytes = core_of(std::vector<Elf64_Phdr>(ElfCore::max_note_segments + 7, note(0)), 0);
    CHECK(ElfCore(bytes).problems() ==
          std::vector<std::string>{"the core holds no memory", "no thread notes"});
  }
  SECTION("too large together") {
    const std::size_t size = 1u << 20;
    const auto bytes = core_of(std::vector<Elf64_Phdr>(300, note(size)), size);
    CHECK(ElfCore(bytes).problems() ==
          std::vector<std::string>{"the core holds no memory", "only 268.4 MB of 314.6 MB of notes are used",
                                   "the notes end in the middle of one", "no thread notes"});
  }
}

TEST_CASE("Notes beyond their number are told once") {
  const std::vector<std::byte> empty_note(12);
  std::vector<std::byte> many;
  many.reserve((CoreNotes::max_notes + 10) * empty_note.size());
  for (std::size_t i = 0; i < CoreNotes::max_notes + 10; ++i)
    many.insert(many.end(), empty_note.begin(), empty_note.end());
  const std::vector<NoteSegment> segments(100, NoteSegment{many, 4});
  const CoreNotes notes = parse_core_notes(segments, {true, ByteOrder::little}, Cpu::x64);
  CHECK(notes.all.size() == CoreNotes::max_notes);
  CHECK(notes.problems == std::vector<std::string>{"only the first 1048576 notes were read"});
}

TEST_CASE("A file that is no core is named for what it is") {
  const auto message = [](std::string_view bytes) {
    try {
      ElfCore core(std::as_bytes(std::span(bytes)));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(message("") == "the core is empty");
  CHECK(message("hello") == "the core is not an ELF file");
  CHECK(message(std::string_view("\x28\xb5\x2f\xfd\0\0\0", 7)) ==
        "the core is packed with zstd; unpack it first");
  CHECK(message("MDMP....") == "the core is a minidump, of Windows or of LLDB's process save-core; "
                               "clr savecore writes cores that are read");
  auto bytes = ElfCoreBuilder(arm64).build();
  bytes[16] = std::byte{3}; // ET_DYN
  CHECK_THROWS_WITH(ElfCore(bytes), "the core is an ELF file but not a core (type 3)");
  bytes.resize(40);
  CHECK_THROWS_WITH(ElfCore(bytes), "the core is cut inside its ELF header");
  CHECK_THROWS_AS(ElfCore::open("/nonexistent/core"), Error);
  CHECK_THROWS_WITH(ElfCore::open("/"), Catch::Contains("not a regular file"));
}

TEST_CASE("An arbitrary byte of a core may be anything") {
  const auto whole = ElfCoreBuilder(x64)
                         .thread(1, 0, registers(17))
                         .process(1, "a", "b")
                         .auxv({{3, 4}})
                         .files({{0x1000, 0x2000, 0, "x"}})
                         .segment(0x1000, pattern(0x40))
                         .segment(0x3000, pattern(0x40))
                         .extended_count()
                         .build();
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (const unsigned value : {0x00u, 0x01u, 0x7fu, 0x80u, 0xffu}) {
      auto bytes = whole;
      bytes[at] = static_cast<std::byte>(value);
      try {
        ElfCore core(bytes);
        read_some(core, 0x1000, 0x3000);
        read_some(core, ~0ull - 0x10, 0x3000);
      } catch (const Error&) {
      }
    }
}
