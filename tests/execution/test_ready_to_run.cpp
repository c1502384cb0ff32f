// ReadyToRun images over synthetic runtimes. Peer cases: dotnet/runtime src/native/managed/cdac/tests
// (ExecutionManager).
#include "core/execution/code_pointer.h"
#include "core/execution/execution_manager.h"
#include "core/execution/range_section_map.h"
#include "core/execution/ready_to_run.h"
#include "core/execution/runtime_functions.h"
#include "core/memory/counting_reader.h"
#include "tests/support/execution_builder.h"
#include "tests/support/faults.h"

#include <catch2/catch.hpp>

#include <map>
#include <random>

using namespace clr;
using namespace clr::test;

namespace {

constexpr Address base = 0x0a0a'0000, end = 0x0a0a'c000;
constexpr Address first_method = 0x0101'aaa0, second_method = 0x0202'bbb0;

CodeBlock block_at(ExecutionManager& manager, Address ip) {
  const CodeLookup found = manager.find(ip);
  if (const auto* miss = std::get_if<execution::Miss>(&found)) FAIL("a miss: " << miss->text);
  return std::get<CodeBlock>(found);
}
MissReason reason_at(ExecutionManager& manager, Address ip) {
  const CodeLookup found = manager.find(ip);
  if (found.index() == 0) FAIL("a method, and not a miss");
  return std::get<execution::Miss>(found).reason;
}

} // namespace

TEST_CASE("one ReadyToRun method") {
  for (const Platform& platform : execution_platforms()) {
    for (const bool composite : {false, true}) {
      INFO(to_string(platform) << (composite ? " composite" : ""));
      ExecutionBuilder b(platform);
      const auto image = b.image({.begin = base,
                                  .end = end,
                                  .functions = {{0x100, 0x200, 0x200}},
                                  .methods = {{0x100, first_method}},
                                  .debug_info = std::vector<std::uint32_t>{0},
                                  .composite = composite});
      const Target target = b.target();
      ExecutionManager manager(target);
      CHECK(reason_at(manager, base + 0xff) == MissReason::no_method);
      for (const Address ip : {base + 0x100, base + 0x200, base + 0x2ff}) {
        const CodeBlock block = block_at(manager, ip);
        CHECK(block.method_desc == first_method);
        CHECK(block.start == base + 0x100);
        CHECK(block.kind == CodeKind::ready_to_run);
        CHECK(manager.relative_offset(block) == ip - base - 0x100);
        CHECK(manager.unwind_info_base(block) == base);
        CHECK(manager.unwind_info(block) == image.table);
        CHECK(manager.funclet_start(block) == base + 0x100);
        CHECK_FALSE(manager.is_funclet(block));
        CHECK(manager.regions(block).hot_size == 0x200);
        CHECK(manager.regions(block).cold_size == 0);
        CHECK(manager.gc_info(block).version == 4);
        CHECK(manager.debug_info(block).address > image.debug_info);
        CHECK_FALSE(manager.debug_info(block).has_flag_byte);
        CHECK(manager.jit_type(block) == 2);
      }
      // The table's last entry matches everything behind it, which is data.
      CHECK(reason_at(manager, base + 0x300) == MissReason::gap);
      CHECK(reason_at(manager, base + 0x8000) == MissReason::gap);
      CHECK(reason_at(manager, end - 1) == MissReason::gap);
      CHECK(manager.method_desc_of_entry_point(base + 0x100) == first_method);
      const RangeSection* section = manager.section_at(base);
      REQUIRE(section != nullptr);
      const ExecutionManager::R2RImage found = manager.r2r_image(*section);
      CHECK(found.module == image.module);
      CHECK(found.info == image.info);
      CHECK(found.composite() == composite);
      CHECK(found.header == image.header);
      CHECK(found.function_count == 1);
    }
  }
}

TEST_CASE("two ReadyToRun methods and the gap between them") {
  for (const Platform& platform : execution_platforms()) {
    ExecutionBuilder b(platform);
    b.image({.begin = base,
             .end = end,
             .functions = {{0x100, 0x600, 0x600}, {0xc00, 0xd00, 0xd00}},
             .methods = {{0x100, first_method}, {0xc00, second_method}}});
    const Target target = b.target();
    ExecutionManager manager(target);
    for (const Address rva : {0x100, 0x680}) CHECK(block_at(manager, base + rva).method_desc == first_method);
    for (const Address rva : {0xc00, 0x1800})
      CHECK(block_at(manager, base + rva).method_desc == second_method);
    CHECK(reason_at(manager, base + 0x700) == MissReason::gap);
    CHECK(reason_at(manager, base + 0xbff) == MissReason::gap);
    CHECK(reason_at(manager, base + 0x1900) == MissReason::gap);
  }
}

TEST_CASE("an image without functions, and its thunks") {
  for (const Platform& platform : execution_platforms()) {
    ExecutionBuilder b(platform);
    b.image({.begin = base, .end = end, .functions = {}, .methods = {}, .thunks = {{0x2000, 0x100}}});
    const Target target = b.target();
    ExecutionManager manager(target);
    CHECK(reason_at(manager, base + 0x1fff) == MissReason::no_method);
    CHECK(reason_at(manager, base + 0x2000) == MissReason::thunk);
    CHECK(reason_at(manager, base + 0x20ff) == MissReason::thunk);
    CHECK(reason_at(manager, base + 0x2100) == MissReason::no_method);
    CHECK(*std::get<execution::Miss>(manager.find(base + 0x2010)).stub == StubKind::method_call_thunk);
  }
}

TEST_CASE("hot and cold parts") {
  for (const Platform& platform : execution_platforms()) {
    INFO(to_string(platform));
    ExecutionBuilder b(platform);
    // Methods 0 and 1 (with a funclet, 2); cold: 3 of method 0, 4 and 5 (a funclet) of method 1.
    b.image({.begin = base,
             .end = end,
             .functions = {{0x100, 0xf0, 0xf0 + 0x80},
                           {0x200, 0x100, 0x180 + 0x190},
                           {0x300, 0x80},
                           {0x400, 0x80, 0, true},
                           {0x500, 0x100, 0, true},
                           {0x600, 0x90}},
             .methods = {{0x100, first_method}, {0x200, second_method}},
             .hot_cold = {3, 0, 4, 1},
             .debug_info = std::vector<std::uint32_t>{0, 1}});
    const Target target = b.target();
    ExecutionManager manager(target);
    struct Row {
      Address rva, method, start;
      std::uint64_t offset;
      Address funclet;
    };
    // Only x64 marks the cold part of the main body; without a mark it counts as a funclet, as in the
    // runtime.
    const bool marks = platform.cpu == Cpu::x64;
    for (const Row& row :
         {Row{0x100, first_method, 0x100, 0, 0x100}, Row{0x108, first_method, 0x100, 8, 0x100},
          Row{0x400, first_method, 0x100, 0xf0, marks ? 0x100u : 0x400u},
          Row{0x408, first_method, 0x100, 0xf8, marks ? 0x100u : 0x400u},
          Row{0x200, second_method, 0x200, 0, 0x200}, Row{0x310, second_method, 0x200, 0x110, 0x300},
          Row{0x508, second_method, 0x200, 0x188, marks ? 0x200u : 0x500u},
          Row{0x610, second_method, 0x200, 0x290, 0x600}}) {
      INFO(std::hex << row.rva);
      const CodeBlock block = block_at(manager, base + row.rva);
      CHECK(block.method_desc == row.method);
      CHECK(block.start == base + row.start);
      CHECK(manager.relative_offset(block) == row.offset);
      CHECK(manager.funclet_start(block) == base + row.funclet);
      CHECK(manager.is_funclet(block) == (row.funclet != row.start));
    }
    const MethodRegions first = manager.regions(block_at(manager, base + 0x408));
    CHECK(first.hot_size == 0xf0);
    CHECK(first.cold_start == base + 0x400);
    CHECK(first.cold_size == 0x80);
    // Asked through a funclet, too.
    const MethodRegions second = manager.regions(block_at(manager, base + 0x310));
    CHECK(second.hot_start == base + 0x200);
    CHECK(second.hot_size == 0x180);
    CHECK(second.cold_start == base + 0x500);
    CHECK(second.cold_size == 0x190);
    CHECK(reason_at(manager, base + 0x480) == MissReason::gap);
    CHECK(reason_at(manager, base + 0x690) == MissReason::gap);
  }
}

TEST_CASE("a method that never ran is no part of the registered one before it") {
  for (const Platform& platform : execution_platforms()) {
    for (const int told_by : {0, 1, 2}) { // debug info, the image's entry points, nothing
      INFO(to_string(platform) << " told by " << told_by);
      ExecutionBuilder b(platform);
      ExecutionBuilder::ImageSpec spec{.begin = base,
                                       .end = end,
                                       // Registered with a funclet; never ran; never ran, with a funclet.
                                       .functions = {{0x100, 0x80, 0x100},
                                                     {0x180, 0x80},
                                                     {0x200, 0x100, 0x100},
                                                     {0x300, 0x80, 0x100},
                                                     {0x380, 0x80}},
                                       .methods = {{0x100, first_method}}};
      if (told_by == 0) spec.debug_info = std::vector<std::uint32_t>{0, 2, 3};
      b.image(spec);
      const Target target = b.target();
      ExecutionManager manager(target);
      const std::vector<std::uint32_t> entries{0, 2, 3};
      unsigned asked = 0;
      if (told_by == 1)
        manager.set_r2r_entries([&](const RangeSection&) {
          ++asked;
          return &entries;
        });
      const CodeBlock funclet = block_at(manager, base + 0x190);
      CHECK(funclet.method_desc == first_method);
      CHECK(funclet.start == base + 0x100);
      CHECK(funclet.function_index == 1);
      CHECK(funclet.method_index == 0);
      const CodeBlock silent = block_at(manager, base + 0x240);
      CHECK(silent.method_desc == 0);
      CHECK(silent.start == base + 0x200);
      CHECK(manager.regions(silent).hot_size == 0x100);
      const CodeBlock silent_funclet = block_at(manager, base + 0x390);
      CHECK(silent_funclet.method_desc == 0);
      CHECK(silent_funclet.start == (told_by == 2 ? base + 0x380 : base + 0x300));
      CHECK(manager.is_funclet(silent_funclet) == (told_by != 2));
      const RangeSection section = *manager.section_at(base);
      const CodeBlock block = manager.r2r_block(section, 2);
      CHECK(block.start == base + 0x200);
      CHECK(block.method_desc == 0);
      CHECK(manager.regions(block).hot_size == 0x100);
      CHECK(manager.r2r_block(section, 0).method_desc == first_method);
      CHECK(fault_of([&] { manager.r2r_block(section, 5); })->kind() == ErrorKind::invalid_argument);
      CHECK((asked != 0) == (told_by == 1));
    }
  }
}

TEST_CASE("the fields of ReadyToRunInfo may lie far from each other") {
  for (const Platform& platform : execution_platforms())
    for (const char* far : {"ReadyToRunHeader", "NumRuntimeFunctions", "RuntimeFunctions",
                            "DelayLoadMethodCallThunks", "CompositeInfo"}) {
      INFO(to_string(platform) << " " << far);
      ExecutionBuilder b(platform);
      TypeDescriptor& info = b.types().descriptor().types.at("ReadyToRunInfo");
      info.fields.find(far)->second.offset = 0x1000;
      info.size = 0x1010;
      b.image({.begin = base,
               .end = end,
               .functions = {{0x100, 0x200, 0x200}},
               .methods = {{0x100, first_method}},
               .thunks = std::pair(0x4000u, 0x40u),
               .debug_info = std::vector<std::uint32_t>{0}});
      const Target target = b.target();
      ExecutionManager manager(target);
      const CodeBlock block = block_at(manager, base + 0x180);
      CHECK(block.method_desc == first_method);
      CHECK(manager.regions(block).hot_size == 0x200);
      CHECK(manager.debug_info(block).address != 0);
      CHECK(reason_at(manager, base + 0x4010) == MissReason::thunk);
    }
}

TEST_CASE("versions of GC info in ReadyToRun images") {
  for (const auto& [major, version] : {std::pair(9, 3), std::pair(10, 3), std::pair(11, 4), std::pair(20, 4),
                                       std::pair(21, 5), std::pair(24, 5)}) {
    ExecutionBuilder b({.pointer_size = 4, .cpu = Cpu::x86});
    b.image({.begin = base,
             .end = end,
             .functions = {{0x100, 0x200, 0x200}},
             .methods = {{0x100, first_method}},
             .major = static_cast<std::uint16_t>(major)});
    const Target target = b.target();
    ExecutionManager manager(target);
    CHECK(manager.gc_info(block_at(manager, base + 0x100)).version == static_cast<unsigned>(version));
  }
}

TEST_CASE("a header that is none gives no version of GC info") {
  ExecutionBuilder b({.pointer_size = 8, .cpu = Cpu::x64});
  const auto image = b.image({.begin = base,
                              .end = end,
                              .functions = {{0x100, 0x200, 0x200}},
                              .methods = {{0x100, first_method}},
                              .major = 9});
  // Readable words, which would be the version 4 or 3, and with it another length of the method.
  b.types().set(image.info, "ReadyToRunInfo", "ReadyToRunHeader", image.info);
  const Target target = b.target();
  ExecutionManager manager(target);
  const CodeBlock block = block_at(manager, base + 0x100);
  CHECK(block.start == base + 0x100);
  CHECK(manager.regions(block).hot_size == 0x200); // by the table
  const auto fault = fault_of([&] { manager.gc_info(block); });
  REQUIRE(fault);
  CHECK(fault->kind() == ErrorKind::corrupt);
  CHECK(fault->address() == image.info);
}

TEST_CASE("a runtime function whose fields overlap is refused") {
  ExecutionBuilder b({.pointer_size = 8, .cpu = Cpu::x64});
  b.types().type("RuntimeFunction",
                 {{"BeginAddress", Width::u32, 0, 0},
                  {"EndAddress", Width::u32, 0, 4},
                  {"UnwindData", Width::u32, 0, 0}},
                 12);
  const Target target = b.target();
  const auto fault = fault_of([&] { RuntimeFunctions functions(target); });
  REQUIRE(fault);
  CHECK(fault->kind() == ErrorKind::unsupported_contract);
}

TEST_CASE("marks of code pointers that the CPU does not have are not removed") {
  const auto flags_of = [](Cpu cpu, std::uint8_t flags) -> std::optional<Address> {
    ExecutionBuilder b({.pointer_size = cpu == Cpu::arm ? 4u : 8u, .cpu = cpu});
    b.platform_metadata(flags);
    const Target target = b.target();
    std::optional<Address> address;
    const auto fault = fault_of([&] { address = read_code_pointers(target).address(0x1235); });
    if (fault) CHECK(fault->kind() == ErrorKind::corrupt);
    return address;
  };
  CHECK(flags_of(Cpu::x64, 0) == 0x1235u);
  CHECK_FALSE(flags_of(Cpu::x64, 1));
  CHECK_FALSE(flags_of(Cpu::x64, 2));
  CHECK(flags_of(Cpu::arm64, 2) == 0x1235u);
  CHECK_FALSE(flags_of(Cpu::arm64, 0x80));
  CHECK(flags_of(Cpu::arm, 1) == 0x1234u);
  CHECK_FALSE(flags_of(Cpu::arm, 0));
}

TEST_CASE("Thumb code") {
  ExecutionBuilder b({.pointer_size = 4, .cpu = Cpu::arm});
  b.platform_metadata(1);
  const Address table = base + 0x6000, unwind = base + 0x7000;
  b.image({.begin = base,
           .end = end,
           .functions = {},
           .methods = {{0x100, first_method}, {0x300, second_method}}});
  const Target target = b.target();
  // By hand: the entries carry the Thumb bit.
  MemoryCursor entry = b.memory().at(table);
  entry.u32(0x101).u32(static_cast<std::uint32_t>(unwind - base));
  entry.u32(0x301).u32(static_cast<std::uint32_t>(unwind + 0x40 - base));
  const auto xdata = [&](Address at, std::uint32_t length) {
    b.memory()
        .at(at)
        .u32(1u << 28 | 1u << 21 | 1u << 20 | length / 2)
        .u32(0)
        .u32(0x7777)
        .bytes(gc_info_bytes(Cpu::arm, 4, length));
  };
  xdata(unwind, 0x180);
  xdata(unwind + 0x40, 0x20);
  ExecutionManager probe(target);
  const Address info = probe.r2r_image(*probe.section_at(base)).info;
  b.types().set(info, "ReadyToRunInfo", "RuntimeFunctions", table);
  b.types().set(info, "ReadyToRunInfo", "NumRuntimeFunctions", 2);
  ExecutionManager manager(target);
  for (const Address ip : {base + 0x100, base + 0x101, base + 0x27f}) {
    const CodeBlock block = block_at(manager, ip);
    CHECK(block.ip == (ip & ~Address{1}));
    CHECK(block.start == base + 0x100);
    CHECK(block.method_desc == first_method);
    CHECK(manager.regions(block).hot_size == 0x180);
    CHECK(manager.funclet_start(block) == base + 0x100);
  }
  CHECK(block_at(manager, base + 0x301).method_desc == second_method);
  CHECK(reason_at(manager, base + 0x281) == MissReason::gap);
  CHECK(reason_at(manager, base + 0x321) == MissReason::gap);
}

TEST_CASE("a second address in a ReadyToRun method costs nothing") {
  ExecutionBuilder b({.pointer_size = 8, .cpu = Cpu::x64});
  b.image({.begin = base,
           .end = end,
           .functions = {{0x100, 0x80, 0x180 + 0x40}, {0x180, 0x80}, {0x200, 0x80}, {0x400, 0x40, 0, true}},
           .methods = {{0x100, first_method}},
           .hot_cold = {3, 0},
           .debug_info = std::vector<std::uint32_t>{0}});
  CountingReader counting(b.memory());
  const Target target(counting, b.types().contract_descriptor(), b.memory().platform());
  ExecutionManager manager(target);
  block_at(manager, base + 0x110);
  CHECK(counting.reads() <= 40);
  counting.reset();
  for (const Address rva : {0x100, 0x17f, 0x190, 0x27f, 0x400, 0x43f}) {
    const CodeBlock block = block_at(manager, base + static_cast<Address>(rva));
    CHECK(block.method_desc == first_method);
    manager.relative_offset(block);
    manager.regions(block);
    manager.unwind_info(block);
  }
  CHECK(block_at(manager, base + 0x230).function_index == 2);
  CHECK(block_at(manager, base + 0x430).function_index == 3);
  CHECK(counting.reads() == 0);
}

TEST_CASE("tables of images that lie") {
  const Platform platform{.pointer_size = 8, .cpu = Cpu::x64};
  const auto with = [&](std::string_view field, std::uint64_t value) {
    ExecutionBuilder b(platform);
    const auto image = b.image({.begin = base,
                                .end = end,
                                .functions = {{0x100, 0x200, 0x200}},
                                .methods = {{0x100, first_method}}});
    b.types().set(image.info, "ReadyToRunInfo", field, value);
    const Target target = b.target();
    ExecutionManager manager(target);
    return fault_of([&] { manager.find(base + 0x100); });
  };
  CHECK(with("NumRuntimeFunctions", 0xFFFF'FFFF)->kind() == ErrorKind::corrupt);
  CHECK(with("NumRuntimeFunctions", 2'000'000)->kind() == ErrorKind::memory_missing);
  CHECK(with("NumHotColdMap", 0xFFFF'FFFF)->kind() == ErrorKind::corrupt);
  CHECK(with("RuntimeFunctions", 0)->kind() == ErrorKind::memory_missing);
  CHECK(with("DelayLoadMethodCallThunks", 0x123)->kind() == ErrorKind::memory_missing);
  CHECK_FALSE(with("ReadyToRunHeader", 0)); // the length is told by the table, too
  ExecutionBuilder b(platform);
  b.section({.begin = base, .end = end, .flags = 0, .r2r_module = b.types().record("Module")});
  const Target target = b.target();
  ExecutionManager manager(target);
  CHECK(fault_of([&] { manager.find(base); })->kind() == ErrorKind::corrupt);
  CHECK(fault_of([&] { manager.r2r_image({}); })->kind() == ErrorKind::invalid_argument);
}

TEST_CASE("a table of functions that does not ascend makes no method of nearly all memory") {
  constexpr unsigned entry_bytes = 12, unwind_at = 8; // of a RUNTIME_FUNCTION on x64
  const auto fault_with = [&](std::uint32_t changed, std::uint32_t begin, bool gc_info) {
    ExecutionBuilder b({.pointer_size = 8, .cpu = Cpu::x64});
    const auto image =
        b.image({.begin = base,
                 .end = end,
                 .functions = {{0x100, 0x80, 0x100 + 0x80},
                               {0x180, 0x80},
                               {0x400, 0x40, 0, true},
                               {0x440, 0x40, 0, true}},
                 .methods = {{0x100, first_method}},
                 .hot_cold = gc_info ? std::vector<std::uint32_t>{2, 0} : std::vector<std::uint32_t>{},
                 .debug_info = std::vector<std::uint32_t>{0}});
    const Address entry = image.table + changed * entry_bytes;
    b.memory().at(entry).u32(begin).u32(begin + 0x40);
    if (!gc_info) b.memory().at(image.table + unwind_at).u32(0x7000'0000);
    const Target target = b.target();
    ExecutionManager manager(target);
    return fault_of([&] {
      const CodeBlock block = manager.r2r_block(*manager.section_at(base), 1);
      CHECK(block.start <= block.ip);
      CHECK(manager.regions(block).cold_size < end - base);
    });
  };
  // The first function lies behind all others. Nothing but the table tells where its method ends, and no part
  // of it is cold.
  CHECK(fault_with(0, 0x9000, false));
  // The last cold function lies in front of the first.
  const auto fault = fault_with(3, 0x200, true);
  REQUIRE(fault);
  CHECK_THAT(fault->what(), Catch::Contains("ends before it begins"));
}

TEST_CASE("failing reads in a ReadyToRun image never make a wrong answer") {
  for (const Platform& platform : execution_platforms()) {
    INFO(to_string(platform));
    ExecutionBuilder b(platform);
    b.image({.begin = base,
             .end = end,
             .functions =
                 {{0x100, 0x80, 0x100 + 0x40}, {0x180, 0x80}, {0x200, 0x100, 0x100}, {0x400, 0x40, 0, true}},
             .methods = {{0x100, first_method}},
             .hot_cold = {3, 0},
             .debug_info = std::vector<std::uint32_t>{0, 2}});
    const ContractDescriptor descriptor = b.types().contract_descriptor();
    for (const bool stays_failed : {false, true}) {
      const auto attempt = [&](MemoryReader& memory, std::uint64_t failing) {
        const Target target(memory, descriptor, platform);
        ExecutionManager manager(target);
        const auto fault = fault_of([&] {
          const CodeBlock cold = block_at(manager, base + 0x408);
          CHECK(cold.method_desc == first_method);
          CHECK(cold.start == base + 0x100);
          const MethodRegions regions = manager.regions(cold);
          CHECK(regions.hot_size == 0x100);
          CHECK(regions.cold_size == 0x40);
          const std::uint64_t offset = manager.relative_offset(cold);
          CHECK(offset == 0x108);
          const Address debug_info = manager.debug_info(cold).address;
          CHECK(debug_info != 0);
          const CodeBlock funclet = block_at(manager, base + 0x190);
          CHECK(funclet.method_desc == first_method);
          const bool is_funclet = manager.is_funclet(funclet);
          CHECK(is_funclet);
          const CodeBlock silent = block_at(manager, base + 0x210);
          CHECK(silent.method_desc == 0);
          CHECK(silent.start == base + 0x200);
          const MissReason behind = reason_at(manager, base + 0x340);
          CHECK(behind == MissReason::gap);
        });
        if (failing == 0) CHECK_FALSE(fault);
        if (fault) CHECK(fault->kind() == ErrorKind::memory_missing);
      };
      for_each_failing_read(b.memory(), attempt, stays_failed);
    }
  }
}

namespace {

// An image of many functions, of which few begin a method.
struct LongTable {
  static constexpr std::uint32_t count = 5000, length = 0x10, first = 0x1000;
  static constexpr Address image_end = base + 0x10'0000;
  using Methods = std::map<std::uint32_t, std::uint32_t>; // how many functions one has, by its first function

  explicit LongTable(const Methods& methods) {
    ExecutionBuilder::ImageSpec spec{.begin = base, .end = image_end, .functions = {}, .methods = {}};
    for (std::uint32_t i = 0; i < count; ++i) spec.functions.push_back({first + i * length, length});
    for (const auto& [index, functions] : methods) {
      spec.functions[index].method_length = functions * length;
      spec.methods.emplace(first + index * length, 0x1000 + index);
    }
    info = b.image(spec).info;
  }
  RangeSection section() {
    const Target target = b.target();
    return *RangeSectionMap(target).find(base);
  }

  ExecutionBuilder b{{.pointer_size = 8, .cpu = Cpu::x64}};
  Address info = 0;
};

struct OpenImage {
  OpenImage(LongTable& table, MemoryReader& memory)
      : target(memory, table.b.types().contract_descriptor(), table.b.memory().platform()), functions(target),
        layout(target), image(target, functions, layout, table.section()) {}
  Target target;
  RuntimeFunctions functions;
  ReadyToRunLayout layout;
  ReadyToRunImage image;
};

} // namespace

TEST_CASE("functions that begin no method are looked at once") {
  LongTable table({{0, 1}});
  CountingReader counting(table.b.memory());
  OpenImage open(table, counting);
  constexpr std::uint32_t last = ReadyToRunImage::max_functions_of_method - 1;
  CHECK(open.image.body_of(last, {}).method_index == last); // the method before it is short
  CHECK(counting.reads() > last);
  counting.reset();
  for (std::uint32_t index = last; index > 0; index -= 5)
    REQUIRE(open.image.body_of(index, {}).method_index == index);
  CHECK(counting.reads() < 30 * (last / 5));
}

TEST_CASE("what is known of an image's functions changes no answer") {
  constexpr std::uint32_t limit = ReadyToRunImage::max_functions_of_method;
  // Two with funclets, one whose funclets end before the next method, and one beyond the limit.
  LongTable table({{0, LongTable::count}, {LongTable::count - 600, 300}, {LongTable::count - 100, 100}});
  std::vector<std::uint32_t> asked{limit - 1, limit, limit + 1, 0, 1, 17};
  for (std::uint32_t index = LongTable::count - 1; index > LongTable::count - 700; index -= 7)
    asked.push_back(index);
  std::mt19937 random(3);
  for (int round = 0; round < 2; ++round) {
    std::ranges::shuffle(asked, random);
    OpenImage open(table, table.b.memory());
    for (const std::uint32_t index : asked) {
      INFO(index);
      const std::uint32_t from_end = LongTable::count - index;
      const std::uint32_t method = index < limit                       ? 0
                                   : from_end <= 100                   ? LongTable::count - 100
                                   : from_end <= 600 && from_end > 300 ? LongTable::count - 600
                                                                       : index;
      const KnownBody body = open.image.body_of(index, {});
      CHECK(body.method_index == method);
      CHECK(body.method_desc == (method == index && index != 0 && index != LongTable::count - 600 &&
                                         index != LongTable::count - 100
                                     ? 0
                                     : 0x1000 + method));
    }
  }
}

TEST_CASE("a map of entry points in which every look-up is long costs one body a bounded number of reads") {
  constexpr Address word = 8, bucket = 8 * word, overflow = Address{1} << 63;
  constexpr std::uint32_t buckets = 97;
  static_assert(buckets < EntryPointMap::max_probes);
  LongTable table({});
  const Address map_at =
      table.info +
      static_cast<Address>(table.b.types().offset("ReadyToRunInfo", "EntryPointToMethodDescMap"));
  table.b.hash_map(map_at, {{base + LongTable::first, 0x1000}}, true, buckets);
  const Target written = table.b.target();
  const Address cells =
      written.read_pointer(map_at + static_cast<Address>(table.b.types().offset("HashMap", "Buckets")));
  for (Address i = 1; i <= buckets; ++i) {
    const Address value = cells + i * bucket + 4 * word;
    table.b.memory().at(value).pointer(written.read_pointer(value) | overflow);
  }
  CountingReader counting(table.b.memory());
  OpenImage open(table, counting);
  counting.reset();
  const auto fault = fault_of([&] { open.image.body_of(LongTable::count - 1, {}); });
  REQUIRE(fault);
  CHECK(fault->kind() == ErrorKind::corrupt);
  CHECK(counting.reads() < ReadyToRunImage::max_entry_probes + 1000);
}

TEST_CASE("a method that only the table of functions can end is measured once") {
  ExecutionBuilder::ImageSpec spec{
      .begin = base, .end = LongTable::image_end, .functions = {}, .methods = {}};
  for (std::uint32_t i = 0; i < 3000; ++i)
    spec.functions.push_back({LongTable::first + i * LongTable::length, LongTable::length});
  spec.methods.emplace(LongTable::first, 0x1000);
  spec.debug_info = std::vector<std::uint32_t>{0};
  ExecutionBuilder b({.pointer_size = 8, .cpu = Cpu::x64});
  const auto image = b.image(spec);
  b.memory().at(image.table + 8).u32(0x7000'0000); // the unwind data, and so the GC info, of the method
  CountingReader counting(b.memory());
  const Target target(counting, b.types().contract_descriptor(), b.memory().platform());
  const RuntimeFunctions functions(target);
  const ReadyToRunLayout layout(target);
  const ReadyToRunImage open(target, functions, layout, *RangeSectionMap(target).find(base));
  CHECK(open.body_of(0, {}).regions.hot_size == 3000 * LongTable::length);
  const std::size_t first = counting.reads();
  counting.reset();
  for (std::uint32_t i = 1; i < 6; ++i)
    CHECK(open.body_of(i, {}).regions.hot_size == 3000 * LongTable::length);
  CHECK(counting.reads() < first);
}

TEST_CASE("a new source of entry points is asked for functions that the old one did not know") {
  ExecutionBuilder b({.pointer_size = 8, .cpu = Cpu::x64});
  b.image({.begin = base,
           .end = end,
           .functions = {{0x100, 0x80, 0x100}, {0x180, 0x80, 0x100}, {0x200, 0x80}, {0x280, 0x80}},
           .methods = {}});
  const Target target = b.target();
  ExecutionManager manager(target);
  const RangeSection section = *manager.section_at(base);
  CHECK(manager.r2r_block(section, 3).start == base + 0x280);
  const std::vector<std::uint32_t> entries{1};
  manager.set_r2r_entries([&](const RangeSection&) { return &entries; });
  CHECK(manager.r2r_block(section, 2).start == base + 0x180);
}
