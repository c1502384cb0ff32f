#include "tests/fuzz/built_seeds.h"

#include "tests/support/execution_builder.h"
#include "tests/support/gc_info_builder.h"
#include "tests/support/memory_builder.h"
#include "tests/support/pdb_builder.h"
#include "tests/symbols/jit_dump_builder.h"
#include "tests/symbols/net_trace_builder.h"

#include <array>

namespace clr::fuzz {
namespace {

using namespace clr::test;

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
    // F#'s machine of a task, whose method stands in the type around it.
    made.nested("Load@22-1", outer);
    made.set(MetadataTable::type_def, made.rows(MetadataTable::type_def), 4,
             made.rows(MetadataTable::field) + 1);
    made.add(MetadataTable::field, {0x06, made.string("ResumptionPoint"), made.blob(bytes_of({6, 0x08}))});
    made.method("MoveNext", bytes_of({0x20, 0, 0x01}));
    made.nested("Loads", outer);
    made.set(MetadataTable::type_def, made.rows(MetadataTable::type_def), 4,
             made.rows(MetadataTable::field) + 1);
    made.method("Load", bytes_of({0x00, 0, 0x01}));
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
  SeedFolder folder(path);
  write_module_seeds(folder);
  pdbs(folder);
  metadata(folder);
  symbols(folder);
  gc_info(folder);
  write_call_frames(folder);
}

} // namespace clr::fuzz
