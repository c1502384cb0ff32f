// Code lookup in a damaged runtime: range sections, nibble maps, code headers, ReadyToRun tables, precodes,
// debug info.
#include "core/debuginfo/debug_info_reader.h"
#include "core/execution/call_counting_stub.h"
#include "core/execution/execution_manager.h"
#include "core/execution/jit_entry.h"
#include "core/execution/nibble_map.h"
#include "core/execution/precode.h"
#include "tests/debuginfo/debug_info_runtime.h"
#include "tests/execution/precode_builder.h"
#include "tests/fuzz/recorded_core.h"
#include "tests/support/r2r_image_target.h"

#include <algorithm>
#include <array>
#include <set>

using namespace clr;
using namespace clr::fuzz;

namespace {

void use(ExecutionManager& manager, const CodeBlock& block) {
  require(block.start <= block.ip, "a block begins at or before the address that was looked up");
  attempt([&] { manager.regions(block); });
  attempt([&] { manager.layout(block); });
  attempt([&] { manager.relative_offset(block); });
  attempt([&] { manager.functions(block); });
  attempt([&] { manager.is_funclet(block); });
  attempt([&] { manager.gc_info(block); });
  DebugInfoReader reader(manager);
  attempt([&] { reader.il_map(block); });
  for (const NativeOffsetKind kind : {NativeOffsetKind::exact, NativeOffsetKind::return_address})
    attempt([&] { reader.il_position(block, kind); });
  manager.jit_type(block);
  attempt([&] { reader.variables(block); });
  attempt([&] { reader.patchpoint_info(block); });
}

// The compiler that a range section's manager holds, in a module around what that names.
void find_compiler(ExecutionManager& manager, const RangeSection& section) {
  const Target& target = manager.target();
  const LoadedModule image{.path = "jit",
                           .base = section.jit_manager & ~Address{0xffff},
                           .size = 0x2'0000,
                           .build_id = {},
                           .contract_descriptor = {}};
  attempt([&] { compile_method_of_manager(target.memory(), target.platform(), section.jit_manager, image); });
  std::array<std::byte, max_get_jit> code{};
  const std::size_t got = target.memory().read_some(section.jit_manager, code);
  compile_method_of_export(target.memory(), target.platform(), section.jit_manager,
                           std::span(code).first(got), image);
}

void look_up(ExecutionManager& manager, Address ip) {
  attempt([&] {
    const CodeLookup found = manager.find(ip);
    if (const auto* block = std::get_if<CodeBlock>(&found)) use(manager, *block);
  });
  attempt([&] { manager.method_desc_of_entry_point(ip); });
  attempt([&] {
    const auto part = manager.precode_part(ip);
    if (!part) return;
    require(part->begin < part->end && ip >= part->begin && ip < part->end,
            "a part of a precode holds the address that was looked up");
    // In a damaged map an address may lie in several sections, and the look-up may reach one that the walk
    // over the whole map cannot: that one is told as a hole.
    const auto holds_part = [&](const RangeSection& section) {
      return part->begin >= section.begin && part->end <= section.end &&
             (section.flags & RangeSection::range_list_flag) != 0;
    };
    require(std::ranges::any_of(manager.sections(), holds_part) || !manager.holes().empty(),
            "a part of a precode lies within a range list");
  });
  call_counting_target(manager.target().memory(), manager.target().platform().cpu, ip);
}

// Of each walk over all code: what a longer one would find, a shorter finds sooner.
constexpr std::size_t most_bodies = 64;

void enumerate(ExecutionManager& manager) {
  Address last = 0;
  std::size_t sections = 0;
  for (const RangeSection& section : manager.sections()) {
    require(section.begin >= last && section.begin < section.end,
            "sections come in order and hold something");
    last = section.begin;
    if (++sections > most_bodies) break;
    attempt([&] { manager.r2r_image(section); });
    attempt([&] { manager.heap_fingerprint(section); });
    attempt([&] { manager.r2r_functions(section); });
    attempt([&] { manager.find(section.begin + 8); });
    require(manager.section_at(section.begin) != nullptr, "a section holds its own beginning");
    manager.section_at(section.end);
    find_compiler(manager, section);
    for (const std::uint32_t index : {0u, 1u, 3u, 77u})
      attempt([&] { use(manager, manager.r2r_block(section, index)); });
    std::size_t bodies = 0, stubs = 0;
    attempt([&] {
      WalkLimit limit;
      manager.for_each_jitted_in(
          section, limit,
          [&](const JittedBody& body) {
            if (bodies < 4) look_up(manager, body.start + 1);
            return ++bodies < most_bodies;
          },
          [&](const StubBlock& stub) {
            require(stub.start < stub.limit, "a block of stubs holds something");
            if (++stubs < most_bodies) look_up(manager, stub.start);
          });
    });
  }
  manager.holes();
  manager.forget();
}

class BuiltCode final : public Scene {
public:
  BuiltCode(Platform platform, unsigned version) : built_(platform, version) {
    auto heap = built_.heap(heap_begin, heap_begin + 0xc000);
    for (unsigned i = 0; i < 6; ++i)
      built_.method(heap, {.start = heap_begin + 0x200 + 0x600 * Address{i},
                           .size = 0x450,
                           .method_desc = 0x1000,
                           .funclets = {0x300}});
    // One without GC info, whose unwind data alone tell its length.
    built_.method(heap,
                  {.start = heap_begin + 0x3200, .size = 0x100, .method_desc = 0x1000, .gc_info = false});
    built_.stub(heap, heap_begin + 0x6000, 0x40, 6);
    // Debug info in the form of each release.
    for (const unsigned major : {8u, 17u, 20u, 22u})
      built_.image({.begin = image_begin + major * 0x1'0000,
                    .end = image_begin + major * 0x1'0000 + 0x8000,
                    .functions = {{0x100, 0x80, 0x80}},
                    .methods = {{0x100, 0x2000}},
                    .debug_info = std::vector<std::uint32_t>{0},
                    .major = static_cast<std::uint16_t>(major)});
    built_.image({.begin = image_begin,
                  .end = image_begin + 0x8000,
                  .functions = {{0x100, 0x80, 0x100 + 0x40},
                                {0x180, 0x80},
                                {0x200, 0x100, 0x100},
                                {0x400, 0x40, 0, true}},
                  .methods = {{0x100, 0x2000}},
                  .hot_cold = {3, 0},
                  .thunks = {{0x900, 0x100}},
                  .debug_info = std::vector<std::uint32_t>{0, 2}});
    test::TargetBuilder& types = built_.types();
    types.type("CodeRangeMapRangeList", {{"RangeListType", test::Width::u32, 0, 32}});
    const Address list = types.record("CodeRangeMapRangeList", {{"RangeListType", 4}});
    built_.section({.begin = stubs_begin,
                    .end = stubs_begin + 0x8000,
                    .flags = RangeSection::range_list_flag,
                    .range_list = list});
    built_.section({.begin = stubs_begin + 0x1'0000,
                    .end = stubs_begin + 0x1'8000,
                    .flags = RangeSection::code_heap | RangeSection::interpreter});
    count_calls();
    hold_compiler();
    set_up(built_.memory(), types.contract_descriptor(), platform);
  }

  unsigned parts() const override { return 2; }
  void ask(const Target& target, unsigned part) override {
    ExecutionManager manager(target);
    if (part == 1) return enumerate(manager);
    for (unsigned i = 0; i < 6; ++i)
      for (const Address at : {0x200, 0x310, 0x510, 0x650, 0x3210})
        look_up(manager, heap_begin + 0x600 * Address{i} + at);
    look_up(manager, heap_begin + 0xbff0); // behind more empty units of the map than are read one by one
    for (const Address rva : {0x100, 0x190, 0x210, 0x2ff, 0x410, 0x910, 0x4100})
      look_up(manager, image_begin + rva);
    for (const Address major : {8, 17, 20, 22}) look_up(manager, image_begin + major * 0x1'0000 + 0x110);
    for (const Address at : {0x40, 0x1'0040}) look_up(manager, stubs_begin + at);
    for (const Address instruction : {0, 7, 10, 12, 18}) look_up(manager, counting_stub + instruction);
  }
  std::vector<Damage> damages() override {
    const Target target = built_.target();
    ExecutionManager manager(target);
    const CodeBlock block = std::get<CodeBlock>(manager.find(heap_begin + 0x210));
    const auto node = [&](std::string_view field) {
      return target.field_address(block.section.heap_list, "CodeHeapListNode", field);
    };
    const unsigned word = target.pointer_size();
    const Address map = target.read_pointer(node("HeaderMap")), base = target.read_pointer(node("MapBase"));
    // The unit of the map behind the one in which the stub begins.
    const Address behind_stub = map + ((heap_begin + 0x6000 - base) / NibbleMap::unit_bytes + 1) * 4;
    const Address unwind = target.field_address(block.code_header, "RealCodeHeader", "UnwindInfos");
    const auto first = target.read_u32(unwind), second = target.read_u32(unwind + 4);
    const auto word_edit = [&](Address at, std::uint64_t value) {
      return Edit{.width = static_cast<std::uint8_t>(word), .at = at, .value = value};
    };
    return {{.name = "torn-map", .part = 1, .edits = {{.width = 0, .at = behind_stub, .value = 4096}}},
            {.name = "missing-map", .part = 1, .edits = {{.width = 0, .at = map, .value = 4}}},
            {.name = "large-heap", .edits = {word_edit(node("EndAddress"), base + 0x100'0000)}},
            {.name = "other-header", .edits = {{.width = 4, .at = unwind, .value = first + 4}}},
            {.name = "other-length", .edits = {{.width = 4, .at = unwind + 4, .value = second + 16}}},
            {.name = "no-unwind", .edits = {{.width = 0, .at = unwind, .value = 4}}}};
  }

private:
  static constexpr Address heap_begin = 0x0a0a'0000, image_begin = 0x0b00'0000, stubs_begin = 0x0c00'0000,
                           counting_stub = 0x0d00'0018;

  // A call counting stub of .NET 10 on x64, as tests/execution/test_call_counting_stub.cpp has it.
  void count_calls() {
    built_.memory().at(counting_stub).bytes({0x48, 0x8B, 0x05, 0xF9, 0x3F, 0,    0,    0x66,
                                             0xFF, 0x08, 0x74, 0x06, 0xFF, 0x25, 0xF6, 0x3F,
                                             0,    0,    0xFF, 0x25, 0xF8, 0x3F, 0,    0});
    built_.memory().at(counting_stub + 18 + 0x3FF6).u64(heap_begin + 0x200);
  }

  // Each manager has a compiler behind its first words, and the compiler a table of functions.
  void hold_compiler() {
    const Target target = built_.target();
    ExecutionManager manager(target);
    std::set<Address> managers;
    for (const RangeSection& section : manager.sections()) managers.insert(section.jit_manager);
    for (const Address at : managers) {
      const Address module = at & ~Address{0xffff}, object = module + 0x1'2000, table = module + 0x1'3000;
      built_.memory().at(at).fill(8 * 8).pointer(object);
      built_.memory().at(object).pointer(table);
      built_.memory().at(table).pointer(module + 0x10).pointer(module + 0x20).pointer(module + 0x30);
    }
  }

  test::ExecutionBuilder built_;
};

class BuiltPrecodes final : public Scene {
public:
  explicit BuiltPrecodes(const test::PrecodeCase& of) : built_(of.platform, of.version) {
    namespace type = test::precode_type;
    test::TargetBuilder& t = built_.b.types();
    entries_ = {built_.precode(0, false, built_.stub_data_type()), built_.precode(1, true, 0),
                built_.precode(2, false, type::pinvoke), built_.precode(3, false, type::ret_buf),
                built_.precode(4, false, type::um_entry)};
    for (const unsigned number : {0u, 2u})
      t.set(built_.data_of(built_.code(number)), "StubPrecodeData", built_.secret(), 0x0101'aaa0);
    t.set(built_.data_of(built_.code(1)), "FixupPrecodeData", "MethodDesc", 0x0202'bbb0);
    t.set(built_.data_of(built_.code(3)), "StubPrecodeData", built_.secret(),
          t.record("ThisPtrRetBufPrecodeData", {{"MethodDesc", 0x0404'ddd0}}));
    if (of.version == 3) {
      entries_.push_back(built_.precode(5, false, type::interpreter));
      const Address method = t.record("InterpMethod", {{"MethodDesc", 0x0101'aaa0}});
      t.set(built_.data_of(built_.code(5)), "InterpreterPrecodeData", "ByteCodeAddr",
            t.record("InterpByteCodeStart", {{"Method", method}}));
      t.set(built_.data_of(built_.code(5)), "StubPrecodeData", "Type", type::interpreter);
    }
    t.type("CodeRangeMapRangeList", {{"RangeListType", test::Width::u32, 0, 32}});
    const Address begin = built_.code(0) & ~Address{0xFFFF};
    built_.b.section({.begin = begin,
                      .end = begin + 0x1'0000,
                      .flags = RangeSection::range_list_flag,
                      .range_list = t.record("CodeRangeMapRangeList", {{"RangeListType", 4}})});
    set_up(built_.b.memory(), t.contract_descriptor(), of.platform);
  }

  unsigned parts() const override { return 1; }
  void ask(const Target& target, unsigned) override {
    ExecutionManager manager(target);
    for (const Address entry : entries_)
      for (const Address at : {entry, entry + 5, built_.data_of(entry)}) look_up(manager, at);
    const Precodes precodes(target);
    for (const Address entry : entries_) {
      attempt([&] { precodes.at_entry(entry); });
      attempt([&] { precodes.containing(entry + 5); });
    }
  }

private:
  test::PrecodeBuilder built_;
  std::vector<Address> entries_;
};

// A jitted method whose debug info has every part, in the form of a release.
class BuiltDebugInfo final : public Scene {
public:
  BuiltDebugInfo(const Platform& platform, test::Form form)
      : built_(platform, {.form = form,
                          .flag_byte = test::has_osr(platform),
                          .patchpoints = form == test::Form::net11 || test::has_osr(platform),
                          .rich = form == test::Form::net11 || test::has_osr(platform),
                          .rewritten = form != test::Form::net9}) {
    test::TargetBuilder& types = built_.builder.types();
    if (form == test::Form::net10) types.contract("DebugInfo", "1");
    const unsigned count_at = form == test::Form::net9 ? 8 : 16;
    types.type("PatchpointInfo", {{"LocalCount", test::Width::u32, 0, count_at}},
               count_at + (form == test::Form::net11 ? 32 : 24));
    set_up(built_.builder.memory(), types.contract_descriptor(), platform);
  }

  unsigned parts() const override { return 1; }
  void ask(const Target& target, unsigned) override {
    ExecutionManager manager(target);
    for (const Address offset : {0, 0x100, 0x310}) look_up(manager, test::method_start + offset);
  }

private:
  test::Runtime built_;
};

// A real ReadyToRun image, and nothing else.
class ImageCode final : public Scene {
public:
  explicit ImageCode(const std::string& name) : built_(CLR_TEST_DATA "/" + name) {
    const Target target = built_.target();
    set_up(built_.memory(), target.descriptor(), target.platform());
  }

  unsigned parts() const override { return 1; }
  void ask(const Target& target, unsigned) override {
    ExecutionManager manager(target);
    enumerate(manager);
    for (Address at = 0; at < built_.size(); at += built_.size() / most_bodies + 1)
      look_up(manager, built_.base() + at);
    for (const RangeSection& section : manager.sections())
      for (const ExecutionManager::R2RFunction& function : manager.r2r_functions(section))
        look_up(manager, function.begin + 2);
  }

private:
  test::R2RImageTarget built_;
};

// Entry points that are structures of the runtime instead of code.
class PortableEntries final : public Scene {
public:
  PortableEntries() : built_({.pointer_size = 4, .cpu = Cpu::x86}) {
    test::TargetBuilder& types = built_.types();
    types.global("FeaturePortableEntrypoints", 1, "uint8")
        .type("PortableEntryPoint", {{"Code"}, {"MethodDesc"}});
    entry_ = types.record("PortableEntryPoint", {{"MethodDesc", 0x9000}});
    set_up(built_.memory(), types.contract_descriptor(), types.platform());
  }

  unsigned parts() const override { return 1; }
  void ask(const Target& target, unsigned) override {
    ExecutionManager manager(target);
    manager.method_desc_of_entry_point(entry_);
  }

private:
  test::ExecutionBuilder built_;
  Address entry_ = 0;
};

class RecordedCode final : public RecordedScene {
public:
  explicit RecordedCode(const std::string& name) : RecordedScene(name) {
    for (const JittedBody& body : recorded_.bodies) addresses_.push_back(body.start);
    addresses_.insert(addresses_.end(), recorded_.frames.begin(), recorded_.frames.end());
  }

  unsigned parts() const override { return groups + 1; }
  void ask(const Target& target, unsigned part) override {
    ExecutionManager manager(target);
    if (part == groups) return enumerate(manager);
    std::size_t left = most_bodies;
    for (std::size_t i = part; i < addresses_.size() && left != 0; i += groups, --left)
      look_up(manager, addresses_[i]);
  }

private:
  static constexpr unsigned groups = 16;
  std::vector<Address> addresses_;
};

} // namespace

std::vector<std::unique_ptr<Scene>> clr::fuzz::make_scenes() {
  std::vector<std::unique_ptr<Scene>> all;
  for (const Platform& platform : test::execution_platforms())
    for (const unsigned version : {1u, 2u}) all.push_back(std::make_unique<BuiltCode>(platform, version));
  for (const Platform& platform : test::execution_platforms())
    for (const test::Form form : test::all_forms)
      if (platform.pointer_size == 8) all.push_back(std::make_unique<BuiltDebugInfo>(platform, form));
  all.push_back(std::make_unique<PortableEntries>());
  for (const char* const name :
       {"metadata/data/names-x86.dll", "metadata/data/names-arm.dll", "metadata/data/names-arm64.dll",
        "metadata/data/composite.r2r.dll", "execution/data/cold-x64.dll"})
    all.push_back(std::make_unique<ImageCode>(name));
  // Each platform in one version: more of them would take the place of the scenes that have more to find.
  unsigned turn = 0;
  for (const test::PrecodeCase& each : test::precode_cases())
    if (each.version == 1 + turn++ / 3 % 3) all.push_back(std::make_unique<BuiltPrecodes>(each));
  all.push_back(std::make_unique<RecordedCode>("gallery-x64"));
  all.push_back(std::make_unique<RecordedCode>("gallery-arm64"));
  return all;
}
