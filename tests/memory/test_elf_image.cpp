#include "core/memory/counting_reader.h"
#include "core/memory/elf_file.h"
#include "core/memory/elf_image.h"
#include "core/memory/elf_relocations.h"
#include "core/memory/failing_reader.h"
#include "core/memory/limited_reader.h"
#include "tests/memory/sparse_memory.h"
#include "tests/support/elf_core_builder.h"
#include "tests/support/elf_module_builder.h"

#include <catch2/catch.hpp>
#include <cstddef>
#include <elf.h>

using namespace clr;
using test::ElfModuleBuilder;
using test::SparseMemory;
using Word = ElfModuleBuilder::Word;

namespace {

Platform any_platform() {
  return GENERATE(Platform{8, ByteOrder::little, Cpu::x64, Os::unix_like},
                  Platform{8, ByteOrder::big, Cpu::arm64, Os::unix_like},
                  Platform{4, ByteOrder::little, Cpu::x86, Os::unix_like},
                  Platform{4, ByteOrder::big, Cpu::arm, Os::unix_like});
}

ElfModuleBuilder module_of(Platform platform) {
  ElfModuleBuilder builder{.platform = platform};
  builder.symbols = {{"g_dacTable", 0x4000},
                     {"DotNetRuntimeContractDescriptor", 0x4010},
                     {"DotNetRuntimeInfo", 0x4100},
                     {"versioned@@V1.0", 0x4200}};
  for (unsigned i = 0; i < 40; ++i) builder.symbols.push_back({"filler_" + std::to_string(i), 0x2000 + i});
  return builder;
}

constexpr Address base = 0x7f00'0000;

} // namespace

TEST_CASE("A module in memory: where it lies, its build id, its symbols by every way there is") {
  ElfModuleBuilder builder = module_of(any_platform());
  builder.gnu_hash = GENERATE(true, false);
  builder.sysv_hash = GENERATE(true, false);
  SparseMemory memory;
  memory.add(base, builder.loaded(base, GENERATE(true, false)));

  REQUIRE(ElfImage::is_elf(memory, base));
  CHECK_FALSE(ElfImage::is_elf(memory, base + 4));
  ElfImage image(memory, base);
  CHECK(image.platform() == builder.platform);
  CHECK(image.bias() == base);
  CHECK(image.range() == MemoryRange{base, 0x5000});
  CHECK(image.entry() == base + 0x1234);
  CHECK(image.segments().size() == 6);
  CHECK(image.build_id() == builder.build_id);
  CHECK(image.dynamic().soname() == "libmade.so");
  for (const auto& [name, value] : builder.symbols) {
    const auto found = image.find_symbol(name);
    REQUIRE(found);
    CHECK(found->address == base + value);
    CHECK(found->size == 40);
  }
  // The version behind '@' is no part of the name; hashes are made of the bare one, so only a scan finds
  // this.
  if (!builder.gnu_hash && !builder.sysv_hash)
    CHECK(image.find_symbol("versioned")->address == base + 0x4200);
  CHECK_FALSE(image.find_symbol("undefined_function"));
  CHECK_FALSE(image.find_symbol("DotNetRuntime"));
  CHECK_FALSE(image.find_symbol("filler_400"));
  CHECK_FALSE(image.find_symbol(""));
}

TEST_CASE("A symbol of a module in memory costs few reads") {
  const ElfModuleBuilder builder = module_of({8, ByteOrder::little, Cpu::x64, Os::unix_like});
  SparseMemory memory;
  memory.add(base, builder.loaded(base, true));
  CountingReader counter(memory);
  ElfImage image(counter, base);
  CHECK(counter.reads() == 2);
  REQUIRE(image.find_symbol("DotNetRuntimeContractDescriptor"));
  CHECK(counter.reads() <= 2 + 1 + 20);
  counter.reset();
  CHECK_FALSE(image.find_symbol("no such symbol"));
  CHECK(counter.reads() <= 2); // the header and the Bloom filter
}

TEST_CASE("Each read of a module's headers and tables may fail") {
  ElfModuleBuilder builder = module_of(any_platform());
  builder.sysv_hash = true;
  SparseMemory memory;
  memory.add(base, builder.loaded(base, false));
  for (std::uint64_t k = 1; k < 200; ++k) {
    FailingReader failing(memory, k);
    try {
      ElfImage image(failing, base);
      const auto found = image.find_symbol("DotNetRuntimeContractDescriptor");
      if (found) CHECK(found->address == base + 0x4010);
      const auto id = image.build_id();
      CHECK(id == builder.build_id);
      if (failing.reads() < k) break;
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::memory_missing);
    }
  }
}

TEST_CASE("What is no module is refused") {
  SparseMemory memory;
  CHECK_THROWS_AS(ElfImage(memory, base), Error);
  memory.add(base, test::pattern(0x1000));
  CHECK_THROWS_WITH(ElfImage(memory, base), Catch::Contains("no ELF module"));
  memory.add(base, test::ElfCoreBuilder({8, ByteOrder::little, Cpu::x64, Os::unix_like}).build());
  CHECK_THROWS_WITH(ElfImage(memory, base), Catch::Contains("no module"));
}

TEST_CASE("An arbitrary byte of a module may be anything") {
  ElfModuleBuilder builder = module_of(any_platform());
  builder.sysv_hash = true;
  builder.words = {{Word::relative, 0x10}, {Word::symbolic, 0}};
  builder.table = GENERATE(ElfModuleBuilder::Table::rela, ElfModuleBuilder::Table::relr);
  const auto whole = builder.file();
  for (std::size_t at = 0; at < 0x3200; at += at < 0x1000 ? 1 : at < 0x3000 ? 0x400 : 1)
    for (const unsigned value : {0x00u, 0x7fu, 0xffu}) {
      auto bytes = whole;
      bytes[at] = static_cast<std::byte>(value);
      try {
        SparseMemory memory;
        memory.add(base, bytes);
        ElfImage image(memory, base);
        image.build_id();
        image.find_symbol("DotNetRuntimeContractDescriptor");
      } catch (const Error&) {
      }
      try {
        ElfFile file(bytes);
        file.find_symbol("g_dacTable");
        std::vector<std::byte> out(0x1000);
        file.read_loaded(0x3000, base, out);
        file.read_loaded(0x3800, base, out);
      } catch (const Error&) {
      }
    }
}

namespace {

// The module with `count` program headers behind its image, of which those beyond its own are notes of
// `note_size` bytes at `notes`.
std::vector<std::byte> with_notes(const ElfModuleBuilder& builder, std::size_t count, Address notes,
                                  std::uint64_t note_size) {
  auto bytes = builder.loaded(base, true);
  const std::uint64_t table = bytes.size();
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  bytes.resize(table + count * sizeof(Elf64_Phdr));
  std::memcpy(bytes.data() + table, bytes.data() + header.e_phoff, header.e_phnum * sizeof(Elf64_Phdr));
  const Elf64_Phdr note{PT_NOTE, PF_R, notes, notes, notes, note_size, note_size, 4};
  for (std::size_t i = header.e_phnum; i < count; ++i)
    std::memcpy(bytes.data() + table + i * sizeof note, &note, sizeof note);
  header.e_phoff = table;
  header.e_phnum = static_cast<Elf64_Half>(count);
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

} // namespace

TEST_CASE("All notes of a module in memory are few bytes together") {
  ElfModuleBuilder builder = module_of({8, ByteOrder::little, Cpu::x64, Os::unix_like});
  builder.build_id.clear();
  SparseMemory memory;
  memory.add(base, with_notes(builder, ElfImage::max_segments, 0x2000, 1u << 20));
  CountingReader counter(memory);
  ElfImage image(counter, base);
  CHECK(image.segments().size() == ElfImage::max_segments);
  counter.reset();
  CHECK(image.build_id().empty());
  CHECK(counter.bytes() <= ElfImage::max_notes_size);
  // Those of a real one count nothing near it.
  builder.build_id = {1, 2, 3, 4};
  memory.add(base, with_notes(builder, 20, 0x2000, 0x100));
  CHECK(ElfImage(memory, base).build_id() == builder.build_id);
}

TEST_CASE("A module in memory has program headers of the size of the format") {
  const ElfModuleBuilder builder = module_of({8, ByteOrder::little, Cpu::x64, Os::unix_like});
  auto bytes = builder.loaded(base, true);
  SparseMemory memory;
  for (const std::uint16_t size : {std::uint16_t{55}, std::uint16_t{57}, std::uint16_t{65535}}) {
    std::memcpy(bytes.data() + offsetof(Elf64_Ehdr, e_phentsize), &size, sizeof size);
    memory.add(base, bytes);
    CountingReader counter(memory);
    CHECK_THROWS_WITH(ElfImage(counter, base), Catch::Contains("impossible program headers"));
    CHECK(counter.reads() == 1);
  }
}

TEST_CASE("Memory of which only so much is read finds nothing beyond") {
  SparseMemory memory;
  memory.add(base, test::pattern(0x1000));
  CountingReader counter(memory);
  LimitedReader limited(counter, 0x400 + 2 * LimitedReader::read_cost);
  std::vector<std::byte> out(0x400);
  CHECK(limited.read_some(base, out) == out.size());
  CHECK(limited.read_some(base, std::span(out).first(1)) == 1);
  CHECK(limited.read_some(0, std::span(out).first(1)) == 0); // in vain, and counted, too
  CHECK(limited.is_used_up());
  CHECK(counter.reads() == 3);
  LimitedReader other(counter, 100);
  CHECK_THROWS_AS(other.read(base, out), Error);
  CHECK(other.is_used_up());
  CHECK(other.read_some(base, std::span(out).first(1)) == 0);
  CHECK(counter.reads() == 3);
}

TEST_CASE("A file of more program headers than a module has is refused") {
  const Platform platform{8, ByteOrder::little, Cpu::x64, Os::unix_like};
  auto bytes = module_of(platform).file();
  const std::uint64_t count = ElfImage::max_segments + GENERATE(0u, 1u);
  const std::uint64_t table = bytes.size();
  bytes.resize(table + count * sizeof(Elf64_Phdr));
  std::memcpy(bytes.data() + offsetof(Elf64_Ehdr, e_phoff), &table, 8);
  std::memcpy(bytes.data() + offsetof(Elf64_Ehdr, e_phnum), &count, 2);
  if (count == ElfImage::max_segments)
    CHECK(ElfFile(bytes).segments().size() == count);
  else
    CHECK_THROWS_WITH(ElfFile(bytes), Catch::Contains("more than 256 program headers"));
}

TEST_CASE("The segments of a file are found in any order") {
  const ElfModuleBuilder builder = module_of({8, ByteOrder::little, Cpu::x64, Os::unix_like});
  auto bytes = builder.file();
  std::swap_ranges(bytes.begin() + 64, bytes.begin() + 64 + 56, bytes.begin() + 64 + 2 * 56);
  const ElfFile file(bytes);
  CHECK(file.segment_at(0)->address == 0);
  CHECK(file.segment_at(0x2fff)->address == 0);
  CHECK(file.segment_at(0x3000)->address == 0x3000);
  CHECK(file.segment_at(0x4fff)->address == 0x4000);
  CHECK(file.segment_at(0x5000) == nullptr);
  CHECK(file.segment_at(~Address{0}) == nullptr);
}

TEST_CASE("A module's relocations of all kinds count together") {
  ElfModuleBuilder builder = module_of({8, ByteOrder::little, Cpu::x64, Os::unix_like});
  builder.table = GENERATE(ElfModuleBuilder::Table::rela, ElfModuleBuilder::Table::relr);
  for (unsigned i = 0; i < 100; ++i) builder.words.push_back({Word::relative, 0x100 + i});
  builder.words.push_back({Word::symbolic, 0});
  SparseMemory memory;
  memory.add(0, builder.file());
  const ElfDynamic dynamic(memory, builder.platform, 0, {}, {ElfModuleBuilder::dynamic, 0x400});
  CHECK(read_relocations(memory, builder.platform, dynamic, 101).relative.size() == 100);
  CHECK_THROWS_WITH(read_relocations(memory, builder.platform, dynamic, 100),
                    Catch::Contains("too many relocations"));
}

TEST_CASE("A file has no more relocations than words") {
  ElfModuleBuilder builder = module_of({8, ByteOrder::little, Cpu::x64, Os::unix_like});
  builder.table = ElfModuleBuilder::Table::relr;
  builder.words.push_back({Word::relative, 0x100});
  auto bytes = builder.file();
  const auto put = [&](std::size_t at, std::uint64_t value) { std::memcpy(bytes.data() + at, &value, 8); };
  // Again and again the same 64 words, in two words of the table.
  for (std::size_t at = ElfModuleBuilder::text; at < ElfModuleBuilder::dynamic; at += 16) {
    put(at, ElfModuleBuilder::relocated);
    put(at + 8, ~std::uint64_t{0});
  }
  for (std::size_t at = ElfModuleBuilder::dynamic; at < ElfModuleBuilder::relocated; at += 16) {
    std::uint64_t tag = 0;
    std::memcpy(&tag, bytes.data() + at, 8);
    if (tag == 36) put(at + 8, ElfModuleBuilder::text);      // DT_RELR
    if (tag == 35) put(at + 8, ElfModuleBuilder::text_size); // DT_RELRSZ
  }
  ElfFile file(bytes);
  CHECK_THROWS_WITH(file.relative_words(), Catch::Contains("too many relocations"));
  CHECK_THROWS_WITH(file.relative_words(), Catch::Contains("too many relocations")); // not tried again
}

TEST_CASE("The file of a module and what a loader makes of it") {
  ElfModuleBuilder builder = module_of(any_platform());
  builder.table =
      GENERATE(ElfModuleBuilder::Table::rela, ElfModuleBuilder::Table::rel, ElfModuleBuilder::Table::relr);
  for (unsigned i = 0; i < 150; ++i)
    builder.words.push_back({i % 5 == 3 ? Word::plain : Word::relative, 0x100 + i});
  builder.words.push_back({Word::symbolic, 0});
  builder.words.push_back({Word::relative, 0x300});
  const auto bytes = builder.file();
  const auto loaded = builder.loaded(base, true);
  ElfFile file(bytes);
  CHECK(file.platform() == builder.platform);
  CHECK(file.build_id() == builder.build_id);
  CHECK(file.soname() == "libmade.so");
  CHECK(file.find_symbol("g_dacTable")->address == 0x4000);
  CHECK(file.relro() == MemoryRange{0x3000, 0x1000});
  CHECK_FALSE(file.has_text_relocations());
  CHECK(file.segment_of_offset(0x2800)->executable);
  CHECK(file.segment_of_offset(0x4fff) != nullptr); // the page behind the data's end
  CHECK(file.segment_of_offset(0x5000) == nullptr);
  CHECK(file.file_bytes(0x2000, 0x1000).data() == bytes.data() + 0x2000);
  CHECK(file.file_bytes(0x4000, 0x900).empty()); // .bss is not in the file

  const unsigned word = builder.platform.pointer_size;
  const std::size_t known = 150 * word;
  const std::vector<std::byte> expected(loaded.begin() + 0x3800,
                                        loaded.begin() + 0x3800 + static_cast<std::ptrdiff_t>(known));
  std::vector<std::byte> out(0x800);
  REQUIRE(file.read_loaded(0x3800, base, out) == known); // ends before the word that needs a symbol
  CHECK(std::equal(expected.begin(), expected.end(), out.begin()));
  // From any byte of any word.
  for (std::size_t at = 0; at < known; ++at) {
    std::vector<std::byte> some(11);
    const std::size_t got = file.read_loaded(0x3800 + at, base, some);
    REQUIRE(got == std::min<std::size_t>(11, known - at));
    REQUIRE(std::equal(some.begin(), some.begin() + static_cast<std::ptrdiff_t>(got),
                       expected.begin() + static_cast<std::ptrdiff_t>(at)));
  }
  CHECK(file.read_loaded(0x3800 + known, base, out) == 0);
  CHECK(file.read_loaded(0x3800 + known + word - 1, base, out) == 0);
  CHECK(file.read_loaded(0x3800 + known + word, base, out) >= word);
  CHECK(out[builder.platform.byte_order == ByteOrder::little ? 1 : word - 2] == std::byte{3});
  CHECK(file.read_loaded(0x3010, base, out) == 0); // the loader writes the dynamic section
  CHECK(file.relative_words().size() == 121);
}

TEST_CASE("The test's own executable opens") {
  const auto file = ElfFile::open("/proc/self/exe");
  CHECK(file->platform().cpu != Cpu::unknown);
  CHECK_NOTHROW(file->relative_words());
  CHECK_THROWS_AS(ElfFile::open("/nonexistent.so"), Error);
}
