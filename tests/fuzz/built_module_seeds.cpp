// The seeds of native modules, cores and PE files.
#include "tests/fuzz/built_seeds.h"

#include "tests/support/elf_core_builder.h"
#include "tests/support/elf_module_builder.h"
#include "tests/support/metadata_builder.h"
#include "tests/support/pe_file_builder.h"

#include <algorithm>
#include <array>
#include <elf.h>
#include <stdexcept>

namespace clr::fuzz {
namespace {

using namespace clr::test;
using Bytes = std::vector<std::byte>;

Bytes core_of(const Platform& platform) {
  ElfCoreBuilder core(platform);
  core.segment(0x40'0000, pattern(64)).segment(0x50'0000, pattern(32), 4096, 5);
  core.thread(7, 11, std::vector<std::uint64_t>(34, 0x40'0000))
      .thread(8, 0, std::vector<std::uint64_t>(34, 1));
  core.process(7, "seed", "seed of a core").auxv({{3, 0x40'0040}, {9, 0x40'0000}, {6, 4096}});
  core.files({{0x40'0000, 0x40'1000, 0, "/srv/seed"}, {0x50'0000, 0x50'1000, 4096, "/srv/lib.so"}});
  core.signal(11, 1, 0xdead'beef);
  return core.build();
}

// Cores without a list of mapped files: their modules are those of the loader's link map, or are searched.
void link_maps(SeedFolder& folder, const Platform& platform) {
  constexpr Address executable = 0x40'0000, library = 0x60'0000, loader = 0x90'0000;
  const unsigned word = platform.pointer_size;
  ElfModuleBuilder builder{.platform = platform};
  Bytes program = builder.loaded(executable, false);
  constexpr unsigned debug_tag = 21; // DT_DEBUG, which the loader fills in
  for (std::size_t at = ElfModuleBuilder::dynamic; at < ElfModuleBuilder::relocated; at += 2 * word)
    if (program[at] == std::byte{debug_tag}) {
      const Bytes value = test::TargetBytes(platform).word(loader).bytes();
      std::copy(value.begin(), value.end(), program.begin() + static_cast<std::ptrdiff_t>(at + word));
      break;
    }
  const Bytes whole = program;
  program.resize(0x3800); // up to the end of the dynamic section
  Bytes made = builder.loaded(library, true);
  made.resize(0x1000);
  for (const Address next : {Address{0}, loader + 0x100}) {
    test::TargetBytes map(platform);
    map.word(1).word(loader + 0x100).word(0).pad_to(0x100);
    map.word(executable).word(loader + 0x300).word(0).word(loader + 0x200).word(0).pad_to(0x200);
    map.word(library).word(loader + 0x310).word(0).word(next).word(loader + 0x100).pad_to(0x310);
    map.text("/lib/libmade.so").pad_to(0x340).text("/opt/program").pad_to(0x400);
    const std::uint64_t headers = executable + (word == 8 ? 64 : 52);
    for (const bool told : {true, false}) {
      ElfCoreBuilder core(platform);
      core.segment(executable, program).segment(loader, map.bytes());
      if (next == 0) core.segment(library, made);
      core.segment(library + 0x2000, pattern(64));
      if (told) core.auxv({{3, headers}, {31, loader + 0x340}});
      folder.write("elf_core", core.build());
    }
  }
  folder.write("elf_core", ElfCoreBuilder(platform).segment(library, made).build());
  folder.write("elf_core", ElfCoreBuilder(platform)
                               .segment(library, made)
                               .files({{library, library + 0x1000, 0, "/lib/libmade.so"},
                                       {library + 0x3000, library + 0x5000, 0x3000, "/lib/libmade.so"},
                                       {0x20'0000, 0x20'1000, 0, "/data/a.dll"}})
                               .build());
}

// Modules that hold a descriptor where fuzz_elf_core.cpp says that symbols name one: of a runtime, and of a
// library of NativeAOT, which has no ExecutionManager. Each with and without a table of roots.
void descriptors_in_modules(SeedFolder& folder) {
  constexpr Address base = 0x7000'0000;
  const std::string_view runtime = R"("contracts":{"ExecutionManager":2},"types":{})",
                         bare = R"("contracts":{"Thread":1},"types":{})",
                         described = R"("contracts":{"Thread":1},"types":{"Thread":{"!":8}})";
  // Slots of the table: none, as many as the builder's symbols have, those of .NET 10 and 9.
  for (const unsigned slots : {0u, 5u, 128u, 158u})
    for (const std::string_view content : {runtime, bare, described}) {
      ElfModuleBuilder builder{.platform = {8, ByteOrder::little, Cpu::x64, Os::unix_like}};
      builder.symbols = {{"DotNetRuntimeContractDescriptor", ElfModuleBuilder::relocated}};
      if (slots != 0) builder.symbols.emplace_back("g_dacTable", ElfModuleBuilder::data);
      Bytes module = builder.loaded(base, true);
      const std::string json =
          R"({"version":1,"baseline":"empty",)" + std::string(content) + R"(,"globals":{}})";
      test::TargetBytes out(builder.platform);
      out.text("DNCCDAC", 8).u32(1).u32(json.size()).u64(base + ElfModuleBuilder::relocated + 40);
      out.u32(0).u32(0).u64(0).text(json);
      std::ranges::copy(out.bytes(), module.begin() + ElfModuleBuilder::relocated);
      test::TargetBytes table(builder.platform), size(builder.platform);
      for (unsigned i = 0; i < slots; ++i) table.u64(slots == 5 ? 0 : base + ElfModuleBuilder::data + i);
      std::ranges::copy(table.bytes(), module.begin() + ElfModuleBuilder::data);
      // The symbol's size, 40 as the builder has it, stands behind its value.
      const Bytes value = test::TargetBytes(builder.platform).u64(ElfModuleBuilder::data).u64(40).bytes();
      const auto symbol = std::ranges::search(module, value);
      if (slots != 0) std::ranges::copy(size.u64(8 * slots).bytes(), symbol.begin() + 8);
      folder.write("elf_core", module);
    }
}

// Relocations of kinds that the builder does not make, in the place of symbolic ones.
void copy_relocations(SeedFolder& folder) {
  const ElfModuleBuilder builder{.platform = {8, ByteOrder::little, Cpu::x64, Os::unix_like},
                                 .symbols = {{"data", ElfModuleBuilder::data}},
                                 .words = {{ElfModuleBuilder::Word::symbolic, 0}}};
  const Bytes offset = test::TargetBytes(builder.platform).u64(ElfModuleBuilder::relocated).bytes();
  for (const unsigned kind : {R_X86_64_COPY, R_X86_64_TLSDESC}) {
    Bytes file = builder.file();
    const auto entry = std::ranges::search(file, offset);
    if (entry.empty()) throw std::logic_error("no relocation");
    entry.begin()[8] = static_cast<std::byte>(kind); // r_info, behind r_offset
    folder.write("elf_core", file);
  }
}

void elf(SeedFolder& folder) {
  for (const unsigned width : {8u, 4u})
    for (const ByteOrder order : {ByteOrder::little, ByteOrder::big})
      for (const Cpu cpu : {Cpu::x64, Cpu::arm64})
        if (width == 8 || cpu == Cpu::x64)
          folder.write("elf_core", core_of({width, order, width == 8 ? cpu : Cpu::x86, Os::unix_like}));
  folder.write("elf_core", ElfCoreBuilder({8, ByteOrder::little, Cpu::x64, Os::unix_like})
                               .segment(0x1000, pattern(16))
                               .notes_last()
                               .extended_count()
                               .build());
  for (const unsigned width : {8u, 4u})
    link_maps(folder, {width, ByteOrder::little, width == 8 ? Cpu::x64 : Cpu::x86, Os::unix_like});
  using Module = ElfModuleBuilder;
  // Without hash tables symbols are searched one by one.
  for (const std::string name :
       {"DotNetRuntimeContractDescriptor", "other", "DotNetRuntimeDebugHeader", "g_dacTable"})
    folder.write("elf_core", Module{.platform = {8, ByteOrder::little, Cpu::x64, Os::unix_like},
                                    .symbols = {{"run", Module::text}, {name, Module::data}},
                                    .gnu_hash = false}
                                 .file());
  descriptors_in_modules(folder);
  copy_relocations(folder);
  for (const Module::Table table : {Module::Table::rela, Module::Table::rel, Module::Table::relr}) {
    const bool hash = table != Module::Table::rel; // GNU's, and a target of 64 bits
    const Module module{
        .platform = {hash ? 8u : 4u, ByteOrder::little, hash ? Cpu::x64 : Cpu::x86, Os::unix_like},
        .symbols = {{"DotNetRuntimeContractDescriptor", Module::data}, {"run", Module::text}},
        .words = {{Module::Word::relative, 0x2000}, {Module::Word::symbolic, 0}, {}},
        .gnu_hash = hash,
        .sysv_hash = !hash,
        .table = table};
    folder.write("elf_core", module.file());
    folder.write("elf_core", module.loaded(0x7000'0000, hash));
  }
}

void pe(SeedFolder& folder) {
  PeFileBuilder plain, ready, composite;
  plain.file_size = ready.file_size = composite.file_size = 0x1c00;
  ready.ready_to_run = true;
  composite.ready_to_run = composite.composite = true;
  for (const PeFileBuilder& builder : {plain, ready, composite}) folder.write("elf_core", builder.file());
  std::vector<std::uint64_t> offsets;
  folder.write("elf_core", single_file(host_marker(), {plain.file()}, offsets));
}

// Files with mappings of them, as fuzz_module_file.cpp reads these: page in memory, pages, page in the file,
// flags (1 writable, 2 held by the core, 4 altered, 8 relocated).
void module_files(SeedFolder& folder) {
  const auto write = [&](unsigned kind, const std::vector<std::array<unsigned, 4>>& mappings,
                         const Bytes& file) {
    Bytes seed{static_cast<std::byte>(mappings.size())};
    for (const auto& mapping : mappings)
      for (const unsigned value : mapping) seed.push_back(static_cast<std::byte>(value));
    append(seed, file);
    folder.write("module_file", kind, seed);
  };
  constexpr unsigned pe = 0, elf = 1, bundle = 2;
  using Module = ElfModuleBuilder;
  for (const bool id : {true, false})
    for (const unsigned change : {0u, 4u}) {
      Module module{.platform = {8, ByteOrder::little, Cpu::x64, Os::unix_like},
                    .symbols = {{"DotNetRuntimeContractDescriptor", Module::data}},
                    .words = std::vector(32, std::pair{Module::Word::relative, std::uint64_t{0x2000}})};
      if (!id) module.build_id.clear();
      write(elf,
            {{0, 1, 0, 2 | (id ? change : 0)},
             {1, 1, 1, 0},
             {2, 1, 2, 2},
             {3, 1, 3, 2 | 8 | change},
             {4, 1, 4, 1}},
            module.file());
      // One page of a segment was written to once.
      write(elf, {{0, 2, 0, 2}, {2, 1, 2, 0}}, module.file());
    }
  PeFileBuilder plain, ready;
  plain.text_relocation = PeFileBuilder::text_address + 0x100;
  ready.ready_to_run = true;
  for (const PeFileBuilder& builder : {plain, ready})
    for (const unsigned change : {0u, 4u}) {
      write(pe, {{0, 1, 0, 2 | change}, {2, 2, 0, 0}, {4, 1, 1, 1 | 2 | 8}, {16, 4, 0, 0}}, builder.file());
      write(pe, {{0, 1, 0, 0}, {2, 2, 0, 1}, {4, 1, 1, 1 | 2 | (change == 0 ? 8u : 0u)}}, builder.file());
    }
  // A word that relocation moves, which a read of a piece meets and one that begins within it.
  for (const std::uint32_t into : {0x600u, 0xaecu}) {
    plain.text_relocation = PeFileBuilder::text_address + into;
    write(pe, {{0, 1, 0, 2}, {2, 2, 0, 2}, {4, 1, 1, 1 | 2 | 8}}, plain.file());
  }
  // A mapping of the whole file that a changed protection has split.
  write(pe, {{0, 2, 0, 2}, {2, 1, 2, 0}, {3, 1, 3, 0}}, ready.file());
  write(pe, {{0, 3, 0, 2}, {3, 1, 3, 0}}, ready.file());
  std::vector<std::uint64_t> offsets;
  plain.file_size = 0x1c00;
  const Bytes bundled = single_file(host_marker(), {plain.file(), plain.file()}, offsets);
  write(bundle, {{0, 1, 0, 2}, {2, 2, 0, 0}, {16, 5, 0, 2}}, bundled);
}

} // namespace

void write_module_seeds(SeedFolder& folder) {
  elf(folder);
  pe(folder);
  module_files(folder);
}

} // namespace clr::fuzz
