#include "core/memory/file_overlay.h"
#include "tests/memory/temporary_directory.h"
#include "tests/support/elf_core_builder.h"
#include "tests/support/elf_module_builder.h"
#include "tests/support/pe_file_builder.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>

using namespace clr;
using test::ElfCoreBuilder;
using test::ElfModuleBuilder;
using test::PeFileBuilder;
using test::TemporaryDirectory;
using Word = ElfModuleBuilder::Word;

namespace {

constexpr Address base = 0x7000'0000;
using Bytes = std::vector<std::byte>;

Bytes part(const Bytes& all, std::size_t begin, std::size_t size) {
  return {all.begin() + static_cast<std::ptrdiff_t>(begin),
          all.begin() + static_cast<std::ptrdiff_t>(begin + size)};
}

Bytes read_some(MemoryReader& memory, Address at, std::size_t size) {
  Bytes out(size, std::byte{0xee});
  out.resize(memory.read_some(at, out));
  return out;
}

Platform any_platform() {
  return GENERATE(Platform{8, ByteOrder::little, Cpu::x64, Os::unix_like},
                  Platform{8, ByteOrder::big, Cpu::arm64, Os::unix_like},
                  Platform{4, ByteOrder::little, Cpu::x86, Os::unix_like},
                  Platform{4, ByteOrder::big, Cpu::arm, Os::unix_like});
}
constexpr Platform x64{8, ByteOrder::little, Cpu::x64, Os::unix_like};

std::vector<FileMapping> module_mappings(const std::string& path) {
  return {{base, base + 0x3000, 0, path},
          {base + 0x3000, base + 0x4000, 0x3000, path},
          {base + 0x4000, base + 0x5000, 0x4000, path}};
}

ElfModuleBuilder module_with_relocations(Platform platform) {
  ElfModuleBuilder builder{.platform = platform};
  for (unsigned i = 0; i < 64; ++i) builder.words.push_back({Word::relative, 0x100 + i});
  builder.words.push_back({Word::symbolic, 0});
  return builder;
}

// A core that was written after everything that is on disk now.
std::string write_core(const TemporaryDirectory& directory, const Bytes& bytes) {
  const std::string path = directory.write("core", bytes);
  std::filesystem::last_write_time(path,
                                   std::filesystem::file_time_type::clock::now() + std::chrono::hours(1));
  return path;
}
// And one that is older than that.
std::string write_old_core(const TemporaryDirectory& directory, const Bytes& bytes) {
  const std::string path = directory.write("core", bytes);
  std::filesystem::last_write_time(path,
                                   std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  return path;
}

const FileOverlay::FileUse& use_of(const std::vector<FileOverlay::FileUse>& uses, const std::string& path) {
  for (const auto& use : uses)
    if (use.target_path == path) return use;
  throw std::runtime_error("no such file: " + path);
}

} // namespace

TEST_CASE("What a core leaves out of an ELF module is read from its file") {
  const TemporaryDirectory directory;
  const ElfModuleBuilder builder = module_with_relocations(any_platform());
  const std::string path = directory.write("libmade.so", builder.file());
  const Bytes loaded = builder.loaded(base, true);
  // The core holds the header page, as the kernel's default filter wants it, and no more.
  const Bytes core_bytes = ElfCoreBuilder(builder.platform)
                               .segment(base, part(loaded, 0, 0x1000), 0x3000, 5)
                               .files(module_mappings(path))
                               .build();
  ElfCore core(core_bytes);
  FileOverlay overlay(core);

  CHECK(overlay.files().empty()); // nothing was opened yet
  CHECK(read_some(overlay, base + 0xff0, 0x40) == part(loaded, 0xff0, 0x40));
  CHECK(read_some(overlay, base + 0x2000, 0x1000) == part(loaded, 0x2000, 0x1000));
  CHECK(overlay.view(base + 0x2100, 0x200).size() == 0x200);
  CHECK(overlay.view(base + 0x100, 0x200).data() == core.view(base + 0x100, 1).data());
  CHECK(overlay.view(base + 0xff0, 0x40).empty()); // part core, part file

  // RELRO after relocation, up to the word that another module decides; its dynamic section is the loader's.
  const std::size_t word = builder.platform.pointer_size;
  CHECK(read_some(overlay, base + 0x3800, 64 * word + 8) == part(loaded, 0x3800, 64 * word));
  CHECK(overlay.view(base + 0x3800, word).empty());
  CHECK(read_some(overlay, base + 0x3010, 8).empty());
  // Writable data that the core lacks is missing, whatever the file says.
  CHECK(read_some(overlay, base + 0x4000, 8).empty());
  CHECK(read_some(overlay, base + 0x5000, 8).empty());

  const auto uses = overlay.files();
  REQUIRE(uses.size() == 1);
  CHECK(uses[0].host_path == path);
  CHECK(uses[0].proof == "same build id");
  CHECK(uses[0].refusal.empty());
  CHECK(uses[0].bytes == 0x30 + 0x1000 + 64 * word);
  CHECK(uses[0].pages == 3);
  CHECK(uses[0].lent_bytes == 0x200);
  CHECK(overlay.bytes_from_core() == 0x10);
  CHECK(overlay.missed_reads() == 4);
}

TEST_CASE("The contract descriptor and its pointers are constant although they lie in writable data") {
  const TemporaryDirectory directory;
  const Platform platform = any_platform();
  const std::size_t word = platform.pointer_size;
  ElfModuleBuilder builder{.platform = platform};
  // The builder's relocated words double as the structure: magic, flags and size, JSON, count, table.
  constexpr Address at = ElfModuleBuilder::relocated;
  builder.symbols = {{"DotNetRuntimeContractDescriptor", at}};
  const std::size_t before_pointers = 16 / word;
  for (std::size_t i = 0; i < before_pointers; ++i) builder.words.push_back({Word::plain, 0x11 + i});
  builder.words.push_back({Word::relative, 0x2100});
  builder.words.push_back({Word::plain, word == 8 && platform.byte_order == ByteOrder::big ? 3ull << 32 : 3});
  if (word == 4) builder.words.push_back({Word::plain, 0});
  builder.words.push_back({Word::relative, at + 0x100});
  while (builder.words.size() * word < 0x100) builder.words.push_back({Word::plain, 0x77});
  for (unsigned i = 0; i < 4; ++i) builder.words.push_back({Word::relative, 0x4000 + 8 * i});
  builder.needed = false; // no RELRO: only the descriptor's own ranges are served
  const std::string path = directory.write("libcoreclr.so", builder.file());
  const Bytes loaded = builder.loaded(base, true);
  const Bytes core_bytes = ElfCoreBuilder(platform)
                               .segment(base, part(loaded, 0, 0x1000), 0x3000, 5)
                               .segment(base + 0x3000, {}, 0x1000, 6)
                               .files(module_mappings(path))
                               .build();
  ElfCore core(core_bytes);
  FileOverlay overlay(core);
  const std::size_t size = word == 8 ? 40 : 32;
  CHECK(read_some(overlay, base + at, 0x60) == part(loaded, at, size));
  CHECK(read_some(overlay, base + at + 0x100, 0x60) == part(loaded, at + 0x100, 3 * word));
  CHECK(read_some(overlay, base + at + 0x80, 8).empty());
}

TEST_CASE("A module with another build id is refused, and a later candidate may be right") {
  const TemporaryDirectory directory;
  ElfModuleBuilder builder = module_with_relocations(x64);
  const Bytes loaded = builder.loaded(base, true);
  directory.write("root/usr/lib/libmade.so", builder.file());
  builder.build_id[3] ^= 1;
  const std::string path = directory.write("usr/lib/libmade.so", builder.file());
  const Bytes core_bytes = ElfCoreBuilder(x64)
                               .segment(base, part(loaded, 0, 0x1000), 0x3000, 5)
                               .files(module_mappings(path))
                               .build();
  ElfCore core(core_bytes);
  {
    FileOverlay overlay(core);
    CHECK(read_some(overlay, base + 0x2000, 8).empty());
    CHECK(overlay.view(base + 0x2000, 8).empty());
    CHECK(overlay.files().at(0).refusal == path + ": another build id");
    CHECK(overlay.files().at(0).host_path.empty());
  }
  {
    // Even a user who trusts the files does not get one that the core contradicts.
    FileOverlay overlay(core, {.trust_files = true});
    CHECK(read_some(overlay, base + 0x2000, 8).empty());
  }
  {
    FileOverlay overlay(core, {.paths = {.directories = {directory.path("root/usr/lib")}}});
    CHECK(read_some(overlay, base + 0x2000, 8) == part(loaded, 0x2000, 8));
    CHECK(overlay.files().at(0).host_path == directory.path("root/usr/lib/libmade.so"));
  }
}

TEST_CASE("Without a build id in the core, relocated words prove a module or refute it") {
  const TemporaryDirectory directory;
  ElfModuleBuilder builder = module_with_relocations(any_platform());
  const std::string path = directory.write("libmade.so", builder.file());
  const bool other = GENERATE(false, true);
  if (other) builder.words[17].second += 16;
  const Bytes loaded = builder.loaded(base, true);
  const Bytes core_bytes = ElfCoreBuilder(builder.platform)
                               .segment(base + 0x3000, part(loaded, 0x3000, 0x1000), 0x1000, 4)
                               .files(module_mappings(path))
                               .build();
  ElfCore core(core_bytes);
  FileOverlay overlay(core);
  CHECK(read_some(overlay, base + 0x2000, 8).size() == (other ? 0 : 8));
  const auto use = overlay.files().at(0);
  if (other)
    CHECK(use.refusal == path + ": 1 of 64 relocated words differ");
  else
    CHECK(use.proof == "same 64 relocated words");
}

TEST_CASE("A piece of read-only memory that was made writable for a while is not the file's") {
  const TemporaryDirectory directory;
  const ElfModuleBuilder builder = module_with_relocations(x64);
  const std::string path = directory.write("libmade.so", builder.file());
  const Bytes loaded = builder.loaded(base, true);
  // [0, 0x2000) and [0x2000, 0x3000) are neighbours of one segment that the kernel did not join.
  const Bytes core_bytes =
      ElfCoreBuilder(x64)
          .segment(base, part(loaded, 0, 0x1000), 0x2000, 5)
          .files({{base, base + 0x2000, 0, path}, {base + 0x2000, base + 0x3000, 0x2000, path}})
          .build();
  ElfCore core(core_bytes);
  FileOverlay overlay(core);
  CHECK(read_some(overlay, base + 0x1000, 0x1000).size() == 0x1000);
  CHECK(read_some(overlay, base + 0x2000, 8).empty());
}

TEST_CASE("Text that is writable in the process is not the file's") {
  const TemporaryDirectory directory;
  const ElfModuleBuilder builder = module_with_relocations(x64);
  const std::string path = directory.write("libmade.so", builder.file());
  const Bytes core_bytes = ElfCoreBuilder(x64)
                               .segment(base, part(builder.loaded(base, true), 0, 0x1000), 0x3000, 7)
                               .files(module_mappings(path))
                               .build();
  ElfCore core(core_bytes);
  FileOverlay overlay(core);
  CHECK(read_some(overlay, base + 0x2000, 8).empty());
}

namespace {

// An assembly is mapped twice: flat, and laid out section by section.
constexpr Address flat = 0x1000'0000, laid_out = 0x2000'0000;

std::vector<FileMapping> assembly_mappings(const std::string& path) {
  return {{flat, flat + 0x4000, 0, path},
          {laid_out, laid_out + 0x1000, 0, path},
          {laid_out + 0x2000, laid_out + 0x4000, 0, path},       // .text at 0x200, on the page below
          {laid_out + 0x4000, laid_out + 0x5000, 0x1000, path}}; // .data at 0x1200
}
// Where the loader put the sections: an address on the page keeps the offset within it.
constexpr Address text = laid_out + 0x2000 + 0x200, data = laid_out + 0x4000 + 0x200;

Bytes data_page(const PeFileBuilder& pe, Address loaded_at, std::size_t resolved) {
  Bytes bytes = pe.data(loaded_at);
  for (std::size_t i = 0; i < resolved * 8; ++i) bytes[i] = std::byte{0x5a}; // what the runtime wrote there
  Bytes page(0x200);
  page.insert(page.end(), bytes.begin(), bytes.end());
  page.resize(0x1000);
  return page;
}

} // namespace

TEST_CASE("An assembly is proven by the words of its data that the core holds") {
  const TemporaryDirectory directory;
  const PeFileBuilder pe;
  const Bytes file = pe.file();
  const std::string path = directory.write("a.dll", file);
  const Address loaded_at = laid_out;
  const std::size_t resolved = GENERATE(0u, 60u, 100u, 128u);
  const Bytes core_bytes = ElfCoreBuilder(x64)
                               .segment(laid_out + 0x4000, data_page(pe, loaded_at, resolved))
                               .files(assembly_mappings(path))
                               .build();
  ElfCore core(core_bytes);
  FileOverlay overlay(core);
  if (resolved == 100) { // too few to prove it, too many to contradict it
    CHECK(read_some(overlay, flat, 16).empty());
    CHECK_THAT(overlay.files().at(0).refusal,
               Catch::Contains("nothing in the core proves that it is the same"));
    return;
  }
  if (resolved == 128) { // every word was overwritten: nothing is proven
    CHECK(read_some(overlay, flat, 16).empty());
    CHECK(overlay.files().at(0).refusal ==
          path + ": only 0 of 128 relocated words of its data are as in the file");
    CHECK(overlay.files().at(0).missed_reads == 0); // a look at the header
    CHECK(read_some(overlay, flat + 0x1800, 16).empty());
    CHECK(overlay.files().at(0).missed_reads == 1);
    return;
  }
  CHECK(read_some(overlay, flat, file.size()) == file);
  CHECK(overlay.view(flat + 0x300, 0x1000).size() == 0x1000);
  CHECK(read_some(overlay, laid_out, 0x200) == part(file, 0, 0x200));
  CHECK(read_some(overlay, laid_out + 0x200, 8).size() ==
        8); // the first bytes of .text, on the header's page
  CHECK(read_some(overlay, text, 0x1000) == part(file, 0x200, 0x1000));
  CHECK(overlay.view(text, 0x1000).size() == 0x1000);
  CHECK(overlay.files().at(0).proof ==
        std::to_string(128 - resolved) + " of 128 relocated words of its data are as in the file");
}

TEST_CASE("An assembly that is mapped at many places is compared at the first of them") {
  const TemporaryDirectory directory;
  const PeFileBuilder pe;
  const std::string path = directory.write("a.dll", pe.file());
  // Of these places the core holds only the last one, whose words prove the file.
  const std::size_t count = PeModuleFile::max_compared + GENERATE(0u, 1u);
  std::vector<FileMapping> mappings;
  for (std::size_t i = 0; i < count; ++i)
    for (FileMapping mapping : assembly_mappings(path)) {
      if (mapping.begin == flat) continue;
      mapping.begin += i * 0x10000;
      mapping.end += i * 0x10000;
      mappings.push_back(mapping);
    }
  const Address last = (count - 1) * 0x10000;
  const auto bytes = ElfCoreBuilder(x64)
                         .segment(laid_out + last + 0x4000, data_page(pe, laid_out + last, 0))
                         .files(mappings)
                         .build();
  ElfCore core(bytes);
  FileOverlay overlay(core);
  const bool proven = count == PeModuleFile::max_compared;
  CHECK(read_some(overlay, laid_out + last, 16).size() == (proven ? 16 : 0));
}

TEST_CASE("Writable sections of an assembly are not the file's, relocated words of others are moved") {
  const TemporaryDirectory directory;
  PeFileBuilder pe;
  pe.text_relocation = PeFileBuilder::text_address + 0x100;
  const Bytes file = pe.file();
  const std::string path = directory.write("a.dll", file);
  const Bytes core_bytes = ElfCoreBuilder(x64)
                               .segment(laid_out, part(file, 0, 0x200), 0x1000, 4)
                               .files(assembly_mappings(path))
                               .build();
  ElfCore core(core_bytes);
  FileOverlay overlay(core);
  CHECK(read_some(overlay, data, 8).empty());
  CHECK(overlay.files().at(0).proof == "same PE header");

  const std::uint64_t moved = laid_out - PeFileBuilder::preferred_base;
  const std::uint64_t expected =
      load<std::uint64_t>(std::span(file).subspan(0x300), ByteOrder::little) + moved;
  const Bytes word = read_some(overlay, text + 0x100, 8);
  REQUIRE(word.size() == 8);
  CHECK(load<std::uint64_t>(word, ByteOrder::little) == expected);
  CHECK(read_some(overlay, text + 0xf0, 0x40).size() == 0x40);
  CHECK(read_some(overlay, text + 0xf0, 0x14).size() == 0x10); // not half a word
  CHECK(overlay.view(text + 0xf0, 0x40).empty());
  CHECK(overlay.view(text + 0xf0, 0x10).size() == 0x10);
  // The page of the headers also holds the beginning of .text, at another base than its own.
  CHECK(read_some(overlay, laid_out + 0x200, 0x200) == part(file, 0x200, 0x100));
  // Flat, nothing is relocated.
  CHECK(read_some(overlay, flat + 0x300, 8) == part(file, 0x300, 8));
}

TEST_CASE("Tables of a ReadyToRun image are the file's although their section is writable") {
  const TemporaryDirectory directory;
  PeFileBuilder pe;
  pe.ready_to_run = true;
  pe.composite = GENERATE(false, true);
  const bool written = GENERATE(false, true); // the core has a segment of the section, without its bytes
  const Bytes file = pe.file();
  const std::string path = directory.write("a.dll", file);
  ElfCoreBuilder builder(x64);
  builder.segment(laid_out, part(file, 0, 0x200), 0x1000, 4).files(assembly_mappings(path));
  if (written) builder.segment(laid_out + 0x4000, {}, 0x1000, 6);
  const Bytes core_bytes = builder.build();
  ElfCore core(core_bytes);
  FileOverlay overlay(core);

  const Address tables = laid_out + PeFileBuilder::tables_begin;
  const std::size_t size = PeFileBuilder::tables_end - PeFileBuilder::tables_begin;
  const Bytes expected = part(file, PeFileBuilder::data_offset + 0x400, size);
  CHECK(read_some(overlay, tables, size) == expected);
  CHECK(read_some(overlay, tables, size + 8) == expected); // what follows is not constant
  CHECK(overlay.view(tables + 8, size - 8).size() == size - 8);
  CHECK(overlay.view(tables, size + 1).empty());
  CHECK(read_some(overlay, tables - 8, 8).empty()); // words: import cells
  CHECK(read_some(overlay, data, 8).empty());
}

TEST_CASE("A mapping that may be a whole small file or one section of it tells no relocated words") {
  const TemporaryDirectory directory;
  PeFileBuilder pe;
  pe.file_size = 0x1e00;
  pe.text_relocation = PeFileBuilder::text_address + 0x100;
  const Bytes file = pe.file();
  const std::string path = directory.write("a.dll", file);
  const Bytes core_bytes = ElfCoreBuilder(x64)
                               .segment(flat, part(file, 0, 0x200), 0x1000, 4)
                               .files({{flat, flat + 0x2000, 0, path}})
                               .build();
  ElfCore core(core_bytes);
  FileOverlay overlay(core);
  CHECK(read_some(overlay, flat + 0x200, 0x1000) == part(file, 0x200, 0x100));
  CHECK(read_some(overlay, flat + 0x308, 0x10) == part(file, 0x308, 0x10));
  CHECK(read_some(overlay, flat + PeFileBuilder::data_offset, 8).empty());
}

TEST_CASE("An assembly of which the core holds nothing: untouched since, named by the user, or refused") {
  const TemporaryDirectory directory;
  PeFileBuilder pe;
  pe.words = 0;
  const Bytes file = pe.file();
  const std::string path = directory.write("bin/a.dll", file);
  const Bytes core_bytes =
      ElfCoreBuilder(x64).segment(0x100, Bytes(16)).files(assembly_mappings(path)).build();

  SECTION("not touched since before the core was written") {
    const auto core = ElfCore::open(write_core(directory, core_bytes));
    FileOverlay overlay(*core);
    CHECK(read_some(overlay, flat, file.size()) == file);
    CHECK(overlay.files().at(0).proof ==
          "not touched since before the core was written, and its size and layout fit");
  }
  SECTION("changed after the core was written") {
    const auto core = ElfCore::open(write_old_core(directory, core_bytes));
    FileOverlay overlay(*core);
    CHECK(read_some(overlay, flat, 16).empty());
    CHECK(overlay.files().at(0).refusal == path + ": it was changed or copied after the core was written, "
                                                  "and nothing in the core proves that it is the same");
    FileOverlay trusting(*core, {.trust_files = true});
    CHECK(read_some(trusting, flat, 16) == part(file, 0, 16));
    CHECK(trusting.files().at(0).proof == "trusted without proof");
  }
  SECTION("named by the user") {
    const auto core = ElfCore::open(write_old_core(directory, core_bytes));
    directory.write("copy/a.dll", file);
    FileOverlay overlay(*core, {.paths = {.prefixes = {{directory.path("bin"), directory.path("copy")}}}});
    CHECK(read_some(overlay, flat, 16) == part(file, 0, 16));
    CHECK(overlay.files().at(0).host_path == directory.path("copy/a.dll"));
  }
  SECTION("another size") {
    Bytes longer = file;
    longer.resize(0x5000);
    directory.write("bin/a.dll", longer);
    const auto core = ElfCore::open(write_core(directory, core_bytes));
    FileOverlay overlay(*core);
    CHECK(read_some(overlay, flat, 16).empty());
    CHECK_THAT(overlay.files().at(0).refusal, Catch::Contains("size or layout"));
  }
}

TEST_CASE("A mapping that is no part of a loaded assembly is left out alone") {
  const TemporaryDirectory directory;
  PeFileBuilder pe;
  pe.words = 0;
  const Bytes file = pe.file();
  const std::string path = directory.write("a.dll", file);
  auto mappings = assembly_mappings(path);
  const auto opened = [&](std::vector<FileMapping> all) {
    return write_core(directory, ElfCoreBuilder(x64).segment(0x100, Bytes(16)).files(std::move(all)).build());
  };
  SECTION("a page from the middle of the file, mapped elsewhere") {
    const Address elsewhere = 0x3000'0000;
    mappings.push_back({elsewhere, elsewhere + 0x1000, 0x2000, path});
    const auto core = ElfCore::open(opened(mappings));
    FileOverlay overlay(*core);
    CHECK(read_some(overlay, flat, file.size()) == file);
    CHECK(read_some(overlay, elsewhere, 16).empty());
    CHECK(overlay.files().at(0).refusal.empty());
    CHECK_THAT(overlay.files().at(0).proof,
               Catch::EndsWith(
                   "but for 1 mappings that are no part of it as it is loaded, the first at 0x30000000"));
  }
  SECTION("a page whose protection was changed splits the mapping") {
    mappings[0].end = flat + 0x2000;
    mappings.insert(mappings.begin() + 1, {{flat + 0x2000, flat + 0x3000, 0x2000, path},
                                           {flat + 0x3000, flat + 0x4000, 0x3000, path}});
    const auto core = ElfCore::open(opened(mappings));
    FileOverlay overlay(*core);
    CHECK(read_some(overlay, flat, 0x1000) == part(file, 0, 0x1000));
    CHECK(overlay.files().at(0).refusal.empty());
  }
  SECTION("the mapping of the whole image has another size") {
    mappings[0].end = flat + 0x3000;
    const auto core = ElfCore::open(opened(mappings));
    FileOverlay overlay(*core);
    CHECK(read_some(overlay, flat, 16).empty());
    CHECK_THAT(overlay.files().at(0).refusal, Catch::Contains("size or layout"));
  }
}

TEST_CASE("Files that cannot be opened, deleted ones and things that are no files") {
  const TemporaryDirectory directory;
  const PeFileBuilder pe;
  const std::string deleted = directory.write("a.dll", pe.file()) + " (deleted)";
  const std::string text_file = directory.write("notes.txt", test::pattern(100));
  const Bytes core_bytes = ElfCoreBuilder(x64)
                               .files({{flat, flat + 0x2000, 0, deleted},
                                       {0x3000, 0x4000, 0, "/memfd:doublemapper (deleted)"},
                                       {0x5000, 0x6000, 0, "/nonexistent/lib.so"},
                                       {0x7000, 0x8000, 0, "bare.dll"},
                                       {0x9000, 0xa000, 0, text_file}})
                               .build();
  const auto core = ElfCore::open(write_core(directory, core_bytes));
  FileOverlay overlay(*core);
  for (const Address at : {flat, Address{0x3000}, Address{0x5000}, Address{0x7000}, Address{0x9000}})
    CHECK(read_some(overlay, at, 8).empty());
  CHECK_THAT(use_of(overlay.files(), deleted).refusal, Catch::Contains("was deleted"));
  CHECK(use_of(overlay.files(), "/memfd:doublemapper (deleted)").refusal == "not a file on disk");
  CHECK_THAT(use_of(overlay.files(), "/nonexistent/lib.so").refusal, Catch::Contains("No such file"));
  CHECK(use_of(overlay.files(), "bare.dll").refusal == "not a file on disk");
  CHECK_THAT(use_of(overlay.files(), text_file).refusal,
             Catch::Contains("neither an ELF module nor a PE image"));
}

TEST_CASE("A single-file program: the host by its build id, the bundle by an image in it") {
  const TemporaryDirectory directory;
  ElfModuleBuilder host = module_with_relocations(x64);
  Bytes host_file = host.file();
  const Bytes marker = test::host_marker();
  host_file.insert(host_file.end(), marker.begin(), marker.end());
  const PeFileBuilder first, second{.timestamp = 2, .seed = 77};
  std::vector<std::uint64_t> offsets;
  const Bytes file = test::single_file(host_file, {first.file(), second.file()}, offsets);
  const std::string path = directory.write("app", file);

  // Both images flat, on the pages below them; the second's header page is in the core.
  const auto page_below = [](std::uint64_t at) { return at & ~std::uint64_t{0xfff}; };
  const std::uint64_t first_page = page_below(offsets[0]), second_page = page_below(offsets[1]);
  const Address first_at = 0x1000'0000, second_at = 0x1800'0000;
  auto mappings = module_mappings(path);
  mappings.push_back({first_at, first_at + 0x5000, first_page, path});
  mappings.push_back({second_at, second_at + 0x5000, second_page, path});
  const Bytes loaded = host.loaded(base, true);
  const bool proven = GENERATE(true, false);
  ElfCoreBuilder builder(x64);
  builder.segment(base, part(loaded, 0, 0x1000), 0x3000, 5).files(mappings);
  if (proven) builder.segment(second_at + offsets[1] - second_page, part(file, offsets[1], 0x200), 0, 4);
  const Bytes core_bytes = builder.build();
  ElfCore core(core_bytes);
  FileOverlay overlay(core);

  CHECK(read_some(overlay, base + 0x2000, 0x100) == part(loaded, 0x2000, 0x100));
  const Bytes served = read_some(overlay, first_at + offsets[0] - first_page, 0x1000);
  if (proven) {
    CHECK(served == part(file, offsets[0], 0x1000));
    CHECK(overlay.files().at(0).proof == "same build id; same PE header");
  } else {
    CHECK(served.empty()); // every bundle around this host has its build id
    CHECK(overlay.files().at(0).proof == "same build id");
    CHECK_FALSE(overlay.files().at(0).refusal.empty());
  }
}

namespace {

// An assembly whose table of relocations has `size` bytes.
Bytes assembly_with_relocations(std::uint32_t size) {
  Bytes file = PeFileBuilder().file();
  file.resize(PeFileBuilder::reloc_offset + size);
  constexpr std::size_t optional_header = 0x98;
  std::memcpy(file.data() + optional_header + 112 + 5 * 8 + 4, &size, sizeof size);   // data directory
  std::memcpy(file.data() + optional_header + 240 + 2 * 40 + 16, &size, sizeof size); // raw size of .reloc
  return file;
}

} // namespace

TEST_CASE("Files of a bundle that are one and the same image share the limit of relocations") {
  constexpr std::uint32_t size = 1u << 20;
  const Bytes file = assembly_with_relocations(size);
  const std::size_t most = PeLayout::max_relocation_bytes / size;
  SingleFileBundle bundle;
  bundle.entries.resize(most, {.offset = 0, .size = file.size(), .compressed = false, .path = "a.dll"});
  PartialFile parts(file);
  CHECK(PeModuleFile(parts, &bundle).has_images());
  bundle.entries.push_back(bundle.entries.back());
  CHECK_THROWS_WITH(PeModuleFile(parts, &bundle), Catch::Contains("more than 16777216 bytes of relocations"));
  CHECK_THROWS_AS(PeLayout::parse(assembly_with_relocations(PeLayout::max_relocation_bytes + 1)), Error);
}

TEST_CASE("An assembly with too many relocations is refused, and says why") {
  const TemporaryDirectory directory;
  const std::string path =
      directory.write("a.dll", assembly_with_relocations(PeLayout::max_relocation_bytes + 1));
  const Bytes core_bytes = ElfCoreBuilder(x64).files(assembly_mappings(path)).build();
  ElfCore core(core_bytes);
  FileOverlay overlay(core);
  CHECK(read_some(overlay, flat, 16).empty());
  CHECK_THAT(overlay.files().at(0).refusal, Catch::Contains("more than 16777216 bytes of relocations"));
}

TEST_CASE("What is known of an assembly counts with the bytes of its file") {
  const TemporaryDirectory directory;
  const PeFileBuilder pe;
  const Bytes file = pe.file();
  PartialFile parts(file);
  const std::uint64_t kept = PeModuleFile(parts, nullptr).kept_bytes();
  CHECK(kept >= pe.words * sizeof(PeLayout::Relocation));
  CHECK(kept < 2 * pe.words * sizeof(PeLayout::Relocation));
  const std::string path = directory.write("a.dll", file);
  const Bytes core_bytes = ElfCoreBuilder(x64)
                               .segment(laid_out, part(file, 0, 0x200), 0x1000, 4)
                               .files(assembly_mappings(path))
                               .build();
  ElfCore core(core_bytes);
  for (const std::uint64_t lacking : {0u, 1u}) {
    const auto whole = std::make_shared<ByteRoom>(file.size() + kept - lacking);
    FileOverlay overlay(core, {.whole = whole});
    CHECK(read_some(overlay, flat, 16).size() == (lacking == 0 ? 16 : 0));
    CHECK(whole->left() == (lacking == 0 ? 0 : whole->most()));
  }
}

TEST_CASE("An assembly that is mapped a million times is not compared for ever") {
  const PeFileBuilder pe;
  const Bytes file = pe.file();
  PartialFile parts(file);
  const FileMapping mapping{flat, flat + 0x4000, 0, "/a.dll"};
  const std::vector<FilePlace> places(PeModuleFile::max_looks / 2, {&mapping, flat, flat, false});
  const Bytes core_bytes = ElfCoreBuilder(x64).segment(0x100, Bytes(16)).build();
  ElfCore core(core_bytes);
  PeModuleFile module(parts, nullptr);
  CHECK_THROWS_WITH(module.identify(core, places), Catch::Contains("more than 2097152 parts"));
  PeModuleFile other(parts, nullptr);
  CHECK_THROWS_WITH(other.layout(places), Catch::Contains("more than 2097152 parts"));
  PeModuleFile few(parts, nullptr);
  CHECK(few.layout({places.begin(), places.begin() + 100}).fits);
}

TEST_CASE("A core without NT_FILE is completed from the modules' files") {
  const TemporaryDirectory directory;
  const ElfModuleBuilder builder = module_with_relocations(any_platform());
  directory.write("root/lib/libmade.so", builder.file());
  const Bytes loaded = builder.loaded(base, true);
  const Bytes core_bytes =
      ElfCoreBuilder(builder.platform).segment(base + 0x3000, part(loaded, 0x3000, 0x2000)).build();
  ElfCore core(core_bytes);
  FileOverlay overlay(core, {.paths = {.sysroot = directory.path("root")}});
  CHECK(read_some(overlay, base + 0x2000, 8).empty());
  overlay.add_modules({{.path = "/lib/libmade.so", .base = base}});
  CHECK(read_some(overlay, base, 0x3000) == part(loaded, 0, 0x3000));
  CHECK(overlay.files().at(0).proof == "same 64 relocated words");
}

TEST_CASE("However many modules a core names, their files are read up to a limit") {
  const TemporaryDirectory directory;
  const ElfModuleBuilder builder = module_with_relocations(x64);
  const std::string first = directory.write("root/lib/0.so", builder.file());
  // A little less than what may be kept, of which the file system stores nothing.
  std::filesystem::resize_file(first, FileOverlay::max_kept_bytes - 1);
  std::vector<LoadedModule> modules;
  for (std::uint64_t n = 0; n < ByteRoom::max_wasted + 3; ++n) {
    const std::string name = std::to_string(n) + ".so";
    if (n != 0) std::filesystem::create_hard_link(first, directory.path("root/lib/" + name));
    modules.push_back({.path = "/lib/" + name, .base = base + n * 0x100000});
  }
  const Bytes core_bytes = ElfCoreBuilder(x64).segment(base + 0x3000, Bytes(0x1000)).build();
  ElfCore core(core_bytes);
  FileOverlay overlay(core, {.paths = {.sysroot = directory.path("root")}});
  overlay.add_modules(modules);
  for (const LoadedModule& module : modules) read_some(overlay, module.base, 8);
  CHECK(overlay.files().size() == ByteRoom::max_wasted);
}

TEST_CASE("Host paths of a target's file") {
  PathMap map;
  CHECK(map.candidates("/usr/lib/a.so").size() == 1);
  map.prefixes = {{"/usr", "/mnt/u/"}, {"/usr/lib/", "/mnt/lib"}, {"/us", "/wrong"}};
  map.sysroot = "/root/";
  map.directories = {"/gathered"};
  std::vector<std::string> paths;
  for (const auto& candidate : map.candidates("/usr/lib/a.so")) paths.push_back(candidate.path);
  CHECK(paths == std::vector<std::string>{"/mnt/lib/a.so", "/mnt/u/lib/a.so", "/root/usr/lib/a.so",
                                          "/usr/lib/a.so", "/gathered/a.so"});
  REQUIRE(map.candidates("bare.dll").size() == 1);
  CHECK(map.candidates("bare.dll")[0].path == "/gathered/bare.dll");
  CHECK(map.candidates("").empty());
}

TEST_CASE("Files complete the list of modules") {
  const TemporaryDirectory directory;
  const ElfModuleBuilder builder = module_with_relocations(x64);
  const std::string path = directory.write("root/lib/libmade.so", builder.file());
  const Bytes loaded = builder.loaded(base, true);
  ElfCoreBuilder core_builder(x64);
  core_builder.segment(base + 0x3000, part(loaded, 0x3000, 0x1000), 0x1000, 4);
  SECTION("with NT_FILE") {
    const Bytes bytes = core_builder.files(module_mappings(path)).build();
    ElfCore core(bytes);
    CHECK(list_modules(core, static_cast<MemoryReader&>(core)).modules[0].build_id.empty());
    FileOverlay overlay(core);
    const ModuleList list = list_modules(core, overlay);
    REQUIRE(list.modules.size() == 1);
    CHECK(list.modules[0].build_id == builder.build_id); // its page is not in the core
    CHECK(list.modules[0].size == 0x5000);
  }
  SECTION("by the link map") {
    // A program whose loader lists libmade.so, of which the core has RELRO only.
    ElfModuleBuilder program{.platform = x64};
    program.soname.clear();
    constexpr Address executable = 0x40'0000, link_map = 0x90'0000;
    Bytes image = program.loaded(executable, false);
    for (std::size_t at = ElfModuleBuilder::dynamic; at < ElfModuleBuilder::relocated; at += 16)
      if (image[at] == std::byte{21} && image[at + 1] == std::byte{0})
        image[at + 10] = std::byte{link_map >> 16};
    test::TargetBytes loader(x64);
    loader.word(1).word(link_map + 0x100).pad_to(0x100).word(executable).word(link_map + 0x300).word(0);
    loader.word(link_map + 0x200).pad_to(0x200).word(base).word(link_map + 0x310).word(0).word(0);
    loader.pad_to(0x310).text("/lib/libmade.so").pad_to(0x400);
    const Bytes bytes = core_builder.segment(executable, image).segment(link_map, loader.bytes()).build();
    ElfCore core(bytes);
    FileOverlay overlay(core, {.paths = {.sysroot = directory.path("root")}});
    const ModuleList list = list_modules(core, overlay);
    REQUIRE(list.modules.size() == 2);
    CHECK(list.modules[1].path == "/lib/libmade.so");
    CHECK(list.modules[1].build_id == builder.build_id);
    CHECK(list.problems.empty());
  }
}
