#include "tests/fuzz/built_seeds.h"

#include "tests/support/elf_core_builder.h"
#include "tests/support/elf_module_builder.h"
#include "tests/support/execution_builder.h"
#include "tests/support/gc_info_builder.h"
#include "tests/support/memory_builder.h"
#include "tests/support/pdb_builder.h"
#include "tests/support/pe_file_builder.h"
#include "tests/symbols/jit_dump_builder.h"
#include "tests/symbols/net_trace_builder.h"

#include <fmt/format.h>

#include <fstream>

namespace clr::fuzz {
namespace {

using namespace clr::test;

class Folder {
public:
  explicit Folder(std::filesystem::path path) : path_(std::move(path)) {}

  void write(std::string_view target, const Bytes& seed) {
    const std::filesystem::path file = path_ / target / fmt::format("built-{}", number_++);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(seed.data()), static_cast<std::streamsize>(seed.size()));
  }
  // Behind the byte by which the target chooses.
  void write(std::string_view target, unsigned choice, const Bytes& seed) {
    Bytes all{static_cast<std::byte>(choice)};
    append(all, seed);
    write(target, all);
  }

private:
  std::filesystem::path path_;
  unsigned number_ = 0;
};

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

void elf(Folder& folder) {
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
  using Module = ElfModuleBuilder;
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

void pe(Folder& folder) {
  PeFileBuilder plain, ready, composite;
  plain.file_size = ready.file_size = composite.file_size = 0x1c00;
  ready.ready_to_run = true;
  composite.ready_to_run = composite.composite = true;
  for (const PeFileBuilder& builder : {plain, ready, composite}) folder.write("elf_core", builder.file());
  std::vector<std::uint64_t> offsets;
  folder.write("elf_core", single_file(host_marker(), {plain.file()}, offsets));
}

constexpr std::uint32_t method_token(std::uint32_t rid) {
  return 0x0600'0000 | rid;
}

void pdbs(Folder& folder) {
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

void metadata(Folder& folder) {
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

void symbols(Folder& folder) {
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
    if (version >= 6) trace.block(7, NetTraceBytes().var(100).var(4));
    folder.write("net_trace", 0, trace.end().out.bytes);
  }
}

void gc_info(Folder& folder) {
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
  // Whole blobs: sets in place, shared and as runs; chunks; everything that a fat header can say.
  for (const unsigned cpu : {0u, 1u})
    for (const unsigned version : {3u, 4u})
      for (const unsigned kind : {0u, 1u, 2u, 3u}) {
        GcInfoSpec spec{.cpu = cpus[cpu],
                        .version = version,
                        .length = 0x400,
                        .frame_register = true,
                        .registers = {{.reg = 7, .flags = 1}, {.reg = 3}, {.reg = 12}},
                        .stack = {{.offset = 8, .flags = 1}, {.base = 2, .offset = -8}},
                        .untracked = {{.base = 2, .offset = -0x88, .flags = 3}},
                        .shared_sets = kind == 1,
                        .runs = kind % 2 == 1};
        if (kind < 2) {
          spec.safe_points = {{0x14, {}}, {0x80, {0, 4}}, {0x84, {1, 2, 3}}, {0x100, {0, 4}}};
        } else {
          spec.ranges = {{0x20, 0x60}, {0x80, 0x3f0}};
          spec.lives = {{.slot = 1, .begin = 0x30, .end = 0x50}, {.slot = 4, .begin = 0x90, .end = 0x390}};
          spec.flags = 0x100;
          spec.context_kind = kind;
          spec.context = spec.cookie = GcInfoSpec::Place{.prolog = 0x10, .offset = -0x30};
          spec.reverse_pinvoke = 0x18;
          spec.outgoing = 0x28;
        }
        unsigned choice = (version - 2) << 4;
        while (choice % 7 != cpu) ++choice;
        folder.write("gc_info", choice, gc_info_bytes(spec));
      }
}

} // namespace

void write_built_seeds(const std::filesystem::path& path) {
  Folder folder(path);
  elf(folder);
  pe(folder);
  pdbs(folder);
  metadata(folder);
  symbols(folder);
  gc_info(folder);
}

} // namespace clr::fuzz
