#include "tests/fuzz/built_seeds.h"

#include "tests/support/elf_core_builder.h"
#include "tests/support/elf_module_builder.h"
#include "tests/support/execution_builder.h"
#include "tests/support/memory_builder.h"
#include "tests/support/pdb_builder.h"
#include "tests/support/pe_file_builder.h"
#include "tests/symbols/jit_dump_builder.h"
#include "tests/symbols/net_trace_builder.h"

#include <algorithm>
#include <array>
#include <elf.h>
#include <stdexcept>

namespace clr::fuzz {
namespace {

using namespace clr::test;

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
  std::vector<std::uint64_t> offsets;
  plain.file_size = 0x1c00;
  const Bytes bundled = single_file(host_marker(), {plain.file(), plain.file()}, offsets);
  write(bundle, {{0, 1, 0, 2}, {2, 2, 0, 0}, {16, 5, 0, 2}}, bundled);
}

constexpr std::uint32_t method_token(std::uint32_t rid) {
  return 0x0600'0000 | rid;
}

void pdbs(SeedFolder& folder) {
  const Bytes async_kind = bytes_of(
      {0xc5, 0x2a, 0xfd, 0x54, 0x25, 0xe9, 0x1a, 0x40, 0x9c, 0x2a, 0xf9, 0x4f, 0x17, 0x10, 0x72, 0xf8});
  const Bytes hoisted_kind = bytes_of(
      {0x1e, 0xa6, 0xa9, 0x6d, 0xc7, 0xf8, 0x74, 0x48, 0xbe, 0x62, 0x68, 0xbc, 0x56, 0x30, 0xdf, 0x71});
  const Bytes source_kind = bytes_of(
      {0x1b, 0x57, 0x8a, 0x0e, 0x26, 0x69, 0x6e, 0x46, 0xb4, 0xad, 0x8a, 0xb0, 0x46, 0x11, 0xf5, 0xfe});
  const Bytes link_kind = bytes_of(
      {0x56, 0x05, 0x11, 0xcc, 0x91, 0xa0, 0x38, 0x4d, 0x9f, 0xec, 0x25, 0xab, 0x9a, 0x35, 0x1a, 0x6a});
  for (const bool wide : {false, true}) {
    PdbBuilder pdb;
    if (wide) pdb.metadata.heap_widths = {.strings = 4, .guid = 4, .blob = 4};
    pdb.metadata.pdb->entry_point = method_token(1);
    const std::uint32_t one = pdb.document("/src/One.cs"), two = pdb.document("C:\\src\\Two.cs", '\\');
    pdb.method(one, PointsBlob(7)
                        .at(0, 10, 5, 10, 6)
                        .at(1, 11, 9, 13, 4)
                        .hidden(0x20)
                        .at(0x21, 9, 13, 9, 40)
                        .document(two)
                        .at(0x4321, 70'000, 300, 70'000, 301)
                        .bytes);
    pdb.method(0, PointsBlob(0, two).hidden(0).document(one).at(4, 1, 1, 1, 2).bytes);
    pdb.method();
    pdb.scope(1, 0, 0x50);
    pdb.variable(0, "total");
    pdb.variable(3, "CS$1$0000", 1);
    pdb.constant("limit", bytes_of({0x08, 0x0a, 0, 0, 0}));
    pdb.scope(1, 0x10, 0x20);
    pdb.variable(1, "i");
    pdb.state_machine(2, 1);
    Bytes steps, hoisted, plain, packed;
    for (const std::uint32_t value : {0x91u, 0x21u, 0x30u}) append_u32(steps, value);
    append_compressed(steps, 2);
    for (const std::uint32_t value : {0u, 0x80u, 0u, 0u}) append_u32(hoisted, value);
    const Bytes text = text_bytes("class A { }\n");
    append_u32(plain, 0);
    append(plain, text);
    append_u32(packed, static_cast<std::uint32_t>(text.size()));
    append(packed, deflate_raw(text));
    pdb.information(7, 1, link_kind, text_bytes("{\"documents\":{\"/src/*\":\"https://x/*\"}}"));
    pdb.information(0, 2, hoisted_kind, hoisted);
    pdb.information(0, 2, async_kind, steps);
    pdb.information(22, 1, source_kind, plain);
    pdb.information(22, 2, source_kind, packed);
    const Bytes built = pdb.build();
    folder.write("pdb", built);
    const PeOptions options{
        .pe32_plus = !wide,
        .debug_entries = {code_view_entry(pdb.id(), "/src/obj/seed.pdb"), embedded_entry(built)}};
    folder.write("pdb", pe_file(MetadataBuilder().build(), options));
  }
}

void metadata(SeedFolder& folder) {
  for (const bool wide : {false, true}) {
    MetadataBuilder made;
    made.uncompressed = made.all_wide = wide;
    made.assembly("seed");
    const std::uint32_t core = made.assembly_ref("System.Private.CoreLib");
    const std::uint32_t list = made.type_ref("System.Collections.Generic", "List`1", core);
    made.nested_type_ref("Enumerator", list);
    const std::uint32_t outer = made.type("Ns", "Outer`1");
    made.generic_parameter(MetadataTable::type_def, outer, 0, "T");
    made.set(MetadataTable::type_def, outer, 4, 1);
    made.add(MetadataTable::field, {0x50, made.string("Red"), made.blob(bytes_of({6, 0x08}))});
    made.add(MetadataTable::constant, {0x08, 0, 1u << 2, made.blob(bytes_of({1, 0, 0, 0}))});
    made.method("Run", bytes_of({0x20, 2, 0x01, 0x08, 0x1d, 0x0e}));
    made.method("Map", bytes_of({0x10, 1, 2, 0x01, 0x1e, 0, 0x10, 0x08}));
    made.generic_parameter(MetadataTable::method_def, 2, 0, "U");
    // Every shape of a type: function pointer, modifier, pinned, sentinel, multi-dimensional array, instance.
    made.method("All", bytes_of({0x05, 4, 0x01, 0x1b, 0x00, 1, 0x01, 0x08, 0x20, 0x05, 0x08, 0x41, 0x14,
                                 0x08, 2, 2,    3,    4,    1, 0,    0x15, 0x12, 0x05, 1,    0x0e}));
    made.nested("Inner", outer);
    // What a compiler makes of an async method and of a lambda.
    made.nested("<RunAsync>d__0", outer);
    made.method("MoveNext", bytes_of({0x20, 0, 0x01}));
    made.nested("<>c", outer);
    made.method("<Run>b__0_0", bytes_of({0x20, 0, 0x01}));
    made.method("<Run>g__Local|0_1", bytes_of({0x00, 0, 0x01}));
    made.add(MetadataTable::type_spec, {made.blob(bytes_of({0x15, 0x12, 0x05, 1, 0x08}))});
    made.add(MetadataTable::member_ref,
             {1u << 3 | 1, made.string(".ctor"), made.blob(bytes_of({0x20, 1, 0x01, 0x0e}))});
    made.add(MetadataTable::custom_attribute,
             {1u << 5, 1u << 3 | 3, made.blob(bytes_of({1, 0, 1, 'x', 0, 0}))});
    made.add(MetadataTable::method_spec, {2u << 1, made.blob(bytes_of({0x0a, 1, 0x08}))});
    made.add(MetadataTable::stand_alone_sig, {made.blob(bytes_of({7, 2, 0x08, 0x0e}))});
    made.user_string(u"a text");
    folder.write("metadata", made.build());
    folder.write("metadata", pe_file(made.build(), {.pe32_plus = wide, .export_name = "RTR_HEADER"}));
  }
}

// Events whose types say everything that the version can say; methods and modules that go away again.
void more_events(NetTraceBuilder& trace, std::uint32_t version) {
  NetTraceBytes fields, row;
  if (version >= 6) {
    // An array of numbers, a fixed one, and an object with a text.
    const auto field = [&](std::string_view name, const NetTraceBytes& type) {
      NetTraceBytes part;
      part.counted(name).raw(type);
      row.u16(part.size()).raw(part);
    };
    NetTraceBytes inner, text;
    text.counted("s").u8(18);
    inner.u8(1).u16(1).u16(text.size()).raw(text);
    field("a", NetTraceBytes().u8(19).u8(9));
    field("f", NetTraceBytes().u8(22).u8(6).u16(4));
    field("o", inner);
    fields.u16(3).raw(row);
    NetTraceBytes all, optional;
    optional.u8(1).u8(2).u8(3).u64(1).u8(4).counted("m").u8(5).counted("d").u8(6).counted("k").counted("v");
    optional.u8(7).guid().u8(8).u8(4).u8(9).u8(1);
    all.var(7).counted("Other").var(9).counted("All").raw(fields).u16(optional.size()).raw(optional);
    trace.block(3, NetTraceBytes().u16(0).u16(all.size()).raw(all));
    NetTraceBytes labels;
    labels.u32(1).u32(2);
    labels.u8(1).guid().u8(2).guid().u8(3).guid().u8(4).u64(1).u8(5).counted("k").counted("v");
    labels.u8(6).counted("n").var(300).u8(7).u8(1).u8(8).u64(2).u8(9).u8(3).u8(0x80 | 10).u8(4);
    labels.u8(0x80 | 11);
    trace.block(8, labels);
  } else {
    // No fields of version 1; behind them a tag with the opcode, and one with fields of version 2.
    NetTraceBytes described, named, object;
    object.utf16("o").u32(1).u32(1);
    named.utf16("s").u32(18);
    object.u32(named.size() + 4).raw(named);
    NetTraceBytes array;
    array.utf16("a").u32(19).u32(9);
    described.u32(2).u32(object.size() + 4).raw(object).u32(array.size() + 4).raw(array);
    fields.u32(0).u32(1).u8(1).u8(5).u32(described.size()).u8(2).raw(described);
    trace.types({{.id = 7, .provider = "Other", .event_id = 9, .name = "All", .fields = fields}});
  }
  const char* const rundown = "Microsoft-Windows-DotNETRuntimeRundown";
  trace.types({{.id = 10, .event_id = 144, .name = "MethodUnloadVerbose"},
               {.id = 11, .event_id = 152, .name = "ModuleLoad"},
               {.id = 12, .event_id = 153, .name = "ModuleUnload"},
               {.id = 13, .event_id = 142, .name = "MethodUnload"},
               {.id = 14, .provider = rundown, .event_id = 146, .name = "DCEndComplete"},
               {.id = 15, .provider = rundown, .event_id = 154, .name = "ModuleDCEnd"},
               {.id = 16, .provider = rundown, .event_id = 142, .name = "MethodDCEnd"}});
  const auto method = [](std::uint64_t id, std::uint64_t start, bool named) {
    NetTraceBytes made;
    made.u64(id).u64(2).u64(start).u32(0x40).u32(0x0600'0001).u32(1);
    if (named) made.utf16("Ns.Type").utf16("Run").utf16("void ()");
    return made;
  };
  NetTraceBytes module;
  module.u64(2).u64(3).u32(0).u32(0).utf16("/srv/app.dll").utf16("").u16(1).guid().u32(1).utf16("app.pdb");
  trace.events({{.metadata = 11, .time = 1200, .payload = module, .sequence = 4},
                {.metadata = 1, .time = 1201, .payload = method(5, 0x5000, true), .sequence = 5},
                {.metadata = 10, .time = 1202, .payload = method(5, 0x5000, true), .sequence = 6},
                {.metadata = 10, .time = 1203, .payload = method(5, 0x5000, true), .sequence = 7},
                {.metadata = 13, .time = 1204, .payload = method(6, 0x6000, false), .sequence = 8},
                {.metadata = 13, .time = 1205, .payload = method(7, 0x1010, false), .sequence = 9},
                {.metadata = 12, .time = 1206, .payload = module, .sequence = 10},
                {.metadata = 15, .time = 1207, .payload = module, .sequence = 11},
                {.metadata = 16, .time = 1208, .payload = method(8, 0x8000, false), .sequence = 12},
                {.metadata = 14, .time = 1209, .payload = NetTraceBytes().u16(1), .sequence = 13}});
}

void symbols(SeedFolder& folder) {
  for (const ByteOrder order : {ByteOrder::little, ByteOrder::big}) {
    JitDumpBuilder dump(order);
    dump.debug_info(0x1000, {{0x1000, 1, "/src/a.cs"}, {0x1008, 2, "\xff"}});
    dump.load(0x1000, 0x20, 1, "A::Run()", 0x20);
    dump.unwinding_info(8);
    dump.load(0x2000, 0x10, 2, "A::Other()", 0x10);
    dump.move(0x2000, 0x3000, 0x10, 2);
    dump.close();
    Bytes bytes = dump.bytes();
    bytes[0] = order == ByteOrder::big ? std::byte{1} : std::byte{0}; // as the target chooses
    folder.write("jit_dump", bytes);
  }
  for (const std::uint32_t version : {4u, 5u, 6u}) {
    NetTraceBuilder trace(version);
    trace.begin();
    if (version >= 6) trace.thread(100, 4321, 777);
    trace.types({{.id = 1, .name = "MethodLoadVerbose"},
                 {.id = 2, .provider = "Other", .event_id = 7, .name = "Named"}});
    trace.stacks(1, {{0x1000, 0x2000}, {0x3000}});
    if (version >= 6) trace.block(8, NetTraceBytes().u32(1).u32(1).u8(0x80 | 10).u8(5));
    // MethodLoadVerbose: id, module, start, size, token, flags, three names.
    NetTraceBytes loaded;
    loaded.u64(1)
        .u64(2)
        .u64(0x1000)
        .u32(0x40)
        .u32(0x0600'0001)
        .u32(1)
        .utf16("Ns.Type")
        .utf16("Run")
        .utf16("void ()");
    trace.events(
        {{.time = 1100, .payload = loaded, .sequence = 1, .stack = 1},
         {.metadata = 2, .time = 1101, .payload = NetTraceBytes().u8(1), .sequence = 2, .stack = 2}});
    trace.events({{.time = 1102, .payload = loaded, .sequence = 3}}, false);
    trace.sequence_point({{100, 3}});
    more_events(trace, version);
    if (version >= 6) trace.block(7, NetTraceBytes().var(100).var(4));
    folder.write("net_trace", 0, trace.end().out.bytes);
  }
}

void gc_info(SeedFolder& folder) {
  const Cpu cpus[] = {Cpu::x64, Cpu::arm64, Cpu::x86, Cpu::arm, Cpu::loongarch64, Cpu::riscv64};
  for (unsigned cpu = 0; cpu < std::size(cpus); ++cpu)
    for (const unsigned version : {2u, 3u, 4u})
      for (const bool fat : {false, true}) {
        // The choice is the remainder by 7 of the first byte, and its high half by 3: see fuzz_gc_info.cpp.
        unsigned choice = (version - 2) << 4;
        while (choice % 7 != cpu) ++choice;
        if (fat && cpus[cpu] == Cpu::x86) continue;
        folder.write("gc_info", choice, gc_info_bytes(cpus[cpu], version, 0x1230, fat));
      }
}

} // namespace

void write_built_seeds(const std::filesystem::path& path) {
  SeedFolder folder(path);
  elf(folder);
  pe(folder);
  module_files(folder);
  pdbs(folder);
  metadata(folder);
  symbols(folder);
  gc_info(folder);
  write_call_frames(folder);
}

} // namespace clr::fuzz
