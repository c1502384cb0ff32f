// The ExecutionManager over synthetic runtimes. Peer cases: dotnet/runtime src/native/managed/cdac/tests
// (ExecutionManager).
#include "core/execution/execution_manager.h"
#include "core/execution/nibble_map.h"
#include "core/execution/precode.h"
#include "core/memory/counting_reader.h"
#include "tests/support/execution_builder.h"
#include "tests/support/faults.h"
#include "tests/support/lending_reader.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

constexpr Address range_begin = 0x0a0a'0000, range_end = 0x0a0a'c000;
constexpr Address method_start = range_begin + 0x1040, method_desc = 0x0101'aaa0;
constexpr std::uint64_t method_size = 0x450;

struct Case {
  Platform platform;
  unsigned version;
};
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Platform& platform : execution_platforms())
    for (const unsigned version : {1u, 2u}) all.push_back({platform, version});
  return all;
}

CodeBlock block_at(ExecutionManager& manager, Address ip) {
  const CodeLookup found = manager.find(ip);
  if (const auto* miss = std::get_if<execution::Miss>(&found)) FAIL("a miss: " << miss->text);
  return std::get<CodeBlock>(found);
}
execution::Miss miss_at(ExecutionManager& manager, Address ip) {
  const CodeLookup found = manager.find(ip);
  if (found.index() == 0) FAIL("a method, and not a miss");
  return std::get<execution::Miss>(found);
}

// A code heap that claims blocks everywhere: its map and its code repeat a few bytes.
class RepeatingReader final : public MemoryReader {
public:
  struct Part {
    Address begin = 0, end = 0;
    std::vector<std::byte> bytes;
  };
  RepeatingReader(MemoryReader& next, std::vector<Part> parts) : next_(&next), parts_(std::move(parts)) {}
  std::size_t read_some(Address address, std::span<std::byte> out) override {
    for (const Part& part : parts_) {
      if (address < part.begin || address >= part.end) continue;
      const auto size = static_cast<std::size_t>(std::min<Address>(out.size(), part.end - address));
      for (std::size_t i = 0; i < size; ++i)
        out[i] = part.bytes[(address - part.begin + i) % part.bytes.size()];
      return size;
    }
    return next_->read_some(address, out);
  }

private:
  MemoryReader* next_;
  std::vector<Part> parts_;
};

} // namespace

TEST_CASE("an empty map holds no code") {
  for (const auto& [platform, version] : cases()) {
    ExecutionBuilder b(platform, version);
    const Target target = b.target();
    ExecutionManager manager(target);
    for (const Address ip : {Address{0}, range_begin, platform.wrap(~Address{0})}) {
      CHECK(miss_at(manager, ip).reason == MissReason::outside);
      CHECK_FALSE(manager.method_desc_of_entry_point(ip));
    }
    CHECK(manager.sections().empty());
    CHECK(manager.section_at(range_begin) == nullptr);
  }
}

TEST_CASE("a jitted method") {
  for (const auto& [platform, version] : cases()) {
    INFO(to_string(platform) << " version " << version);
    ExecutionBuilder b(platform, version);
    auto heap = b.heap(range_begin, range_end);
    const Address header = b.method(heap, {.start = method_start,
                                           .size = method_size,
                                           .method_desc = method_desc,
                                           .funclets = {0x300, 0x400},
                                           .debug_info = 0x0bcd'0000});
    const Target target = b.target();
    ExecutionManager manager(target);
    for (const std::uint64_t offset : {std::uint64_t{0}, method_size / 2, method_size - 1}) {
      const CodeBlock block = block_at(manager, method_start + offset);
      CHECK(block.ip == method_start + offset);
      CHECK(block.start == method_start);
      CHECK(block.method_desc == method_desc);
      CHECK(block.kind == CodeKind::jitted);
      CHECK(block.code_header == header);
      CHECK(block.section.begin == range_begin);
      CHECK(manager.relative_offset(block) == offset);
      CHECK(manager.unwind_info_base(block) == range_begin);
      const MethodRegions regions = manager.regions(block);
      CHECK(regions.hot_start == method_start);
      CHECK(regions.hot_size == method_size);
      CHECK(regions.cold_size == 0);
      CHECK(manager.jit_type(block) == 1);
      const ExecutionManager::Layout layout = manager.layout(block);
      CHECK(layout.regions.hot_start == method_start);
      CHECK(layout.regions.hot_size == method_size);
      const std::vector<ExecutionManager::Function> functions = manager.functions(block);
      REQUIRE(functions.size() == 3);
      REQUIRE(layout.functions.size() == functions.size());
      for (std::size_t i = 0; i < functions.size(); ++i) {
        CHECK(layout.functions[i].begin == functions[i].begin);
        CHECK(layout.functions[i].entry == functions[i].entry);
      }
    }
    CHECK(manager.method_desc_of_entry_point(method_start) == method_desc);

    const std::uint64_t stride = b.types().size_of("RuntimeFunction");
    const Address table = header + static_cast<Address>(b.types().offset("RealCodeHeader", "UnwindInfos"));
    const auto check_funclet = [&](std::uint64_t offset, unsigned entry, std::uint64_t start) {
      const CodeBlock block = block_at(manager, method_start + offset);
      CHECK(manager.unwind_info(block) == table + entry * stride);
      CHECK(manager.funclet_start(block) == method_start + start);
      CHECK(manager.is_funclet(block) == (entry != 0));
    };
    check_funclet(0, 0, 0);
    check_funclet(0x2ff, 0, 0);
    check_funclet(0x300, 1, 0x300);
    check_funclet(0x3ff, 1, 0x300);
    check_funclet(method_size - 1, 2, 0x400);

    const CodeBlock block = block_at(manager, method_start);
    CHECK(manager.debug_info(block).address == 0x0bcd'0000);
    CHECK(manager.debug_info(block).has_flag_byte == (platform.cpu == Cpu::x64));
    CHECK(manager.gc_info(block).version == 4);
    CHECK(manager.gc_info(block).address != 0);

    const execution::Miss behind = miss_at(manager, method_start + method_size);
    CHECK(behind.reason == MissReason::gap);
    CHECK(behind.method_desc == method_desc);
    CHECK(behind.block_start == method_start);
    CHECK(miss_at(manager, method_start - 1).reason == MissReason::no_method);
    CHECK(miss_at(manager, range_begin).reason == MissReason::no_method);
    CHECK(miss_at(manager, range_end - 1).reason == (version == 1 ? MissReason::gap : MissReason::no_method));
    CHECK(miss_at(manager, range_end).reason == MissReason::outside);
  }
}

TEST_CASE("a range without a method") {
  for (const auto& [platform, version] : cases()) {
    ExecutionBuilder b(platform, version);
    b.heap(range_begin, range_end);
    const Target target = b.target();
    ExecutionManager manager(target);
    for (const Address ip : {range_begin, range_begin + 0x6000, range_end - 1})
      CHECK(miss_at(manager, ip).reason == MissReason::no_method);
  }
}

TEST_CASE("the length of a jitted method without GC info comes from its unwind entries") {
  for (const auto& [platform, version] : cases()) {
    ExecutionBuilder b(platform, version);
    auto heap = b.heap(range_begin, range_end);
    b.method(heap, {.start = method_start,
                    .size = method_size,
                    .method_desc = method_desc,
                    .funclets = {0x300},
                    .gc_info = false});
    const Target target = b.target();
    ExecutionManager manager(target);
    CHECK(manager.regions(block_at(manager, method_start + method_size - 1)).hot_size == method_size);
    CHECK(miss_at(manager, method_start + method_size).reason == MissReason::gap);
  }
}

TEST_CASE("the word before the code tells stubs from methods") {
  for (const auto& [platform, version] : cases()) {
    INFO(to_string(platform) << " version " << version);
    for (const bool renumbered : {false, true}) {
      ExecutionBuilder b(platform, version);
      if (renumbered) b.types().type("CodeRangeMapRangeList", {{"RangeListType", Width::u32}});
      auto heap = b.heap(range_begin, range_end);
      for (Address kind = 1; kind <= 15; ++kind) b.stub(heap, range_begin + 0x100 + 0x40 * kind, 0x20, kind);
      // One more than the last kind is the address of a header; there is none.
      b.stub(heap, range_begin + 0x1000, 0x20, 16);
      const Target target = b.target();
      ExecutionManager manager(target);
      const auto kind_of = [&](Address kind) {
        const execution::Miss miss = miss_at(manager, range_begin + 0x100 + 0x40 * kind + 8);
        CHECK(miss.reason == MissReason::stub);
        CHECK(miss.block_start == range_begin + 0x100 + 0x40 * kind);
        return *miss.stub;
      };
      CHECK(kind_of(1) == StubKind::jump_stub);
      CHECK(kind_of(2) == (renumbered ? StubKind::dynamic_helper : StubKind::unknown));
      CHECK(kind_of(3) == (renumbered ? StubKind::stub_precode : StubKind::dynamic_helper));
      CHECK(kind_of(4) == (renumbered ? StubKind::fixup_precode : StubKind::stub_precode));
      CHECK(kind_of(6) == (renumbered ? StubKind::vsd_resolve : StubKind::vsd_dispatch));
      CHECK(kind_of(9) == (renumbered ? StubKind::call_counting : StubKind::vsd_vtable));
      CHECK(kind_of(10) == (renumbered ? StubKind::wrapper : StubKind::unknown));
      CHECK(kind_of(11) == (renumbered ? StubKind::shuffle_thunk : StubKind::unknown));
      CHECK(kind_of(15) == StubKind::unknown);
      CHECK(fault_of([&] { manager.find(range_begin + 0x1000); })->kind() == ErrorKind::memory_missing);
    }
  }
}

namespace {
// Of the first section.
StubBlock only_stub(ExecutionManager& manager) {
  std::vector<StubBlock> stubs;
  WalkLimit limit;
  manager.for_each_jitted_in(
      manager.sections().front(), limit, [](const JittedBody&) { return true; },
      [&](const StubBlock& stub) { stubs.push_back(stub); });
  REQUIRE(stubs.size() == 1);
  return stubs.front();
}
} // namespace

TEST_CASE("a block whose header is not written is neither code nor a stub") {
  for (const auto& [platform, version] : cases()) {
    ExecutionBuilder b(platform, version);
    auto heap = b.heap(range_begin, range_end);
    b.stub(heap, range_begin + 0x100, 0x20, 1);
    b.stub(heap, range_begin + 0x200, 0x20, 0);
    const Target target = b.target();
    ExecutionManager manager(target);
    const execution::Miss miss = miss_at(manager, range_begin + 0x208);
    CHECK(miss.reason == MissReason::no_method);
    CHECK_FALSE(miss.stub);
    CHECK_THAT(miss.text, Catch::Contains("not written"));
    const StubBlock stub = only_stub(manager);
    CHECK(stub.start == range_begin + 0x100);
    CHECK(stub.limit == range_begin + 0x200 - platform.pointer_size);
  }
}

TEST_CASE("a stub ends where the nibble map covers nothing more, and where it is damaged") {
  for (const auto& [platform, version] : cases()) {
    const auto limit_of = [&](std::optional<std::uint32_t> damage) {
      ExecutionBuilder b(platform, version);
      auto heap = b.heap(range_begin, range_end);
      b.stub(heap, range_begin + 0x100, 0x20, 1);
      b.method(heap, {.start = range_begin + 0x440, .size = 0x20, .method_desc = 0x1000});
      if (damage)
        b.memory().write_integer(heap.map->units() + 4 * (0x440 / NibbleMap::unit_bytes), *damage, 4);
      const Target target = b.target();
      ExecutionManager manager(target);
      const StubBlock stub = only_stub(manager);
      CHECK(stub.start == range_begin + 0x100);
      CHECK(manager.holes().size() == (damage ? 1 : 0));
      if (damage) {
        const auto fault = fault_of([&] { manager.find(range_begin + 0x448); });
        REQUIRE(fault);
        CHECK(fault->kind() == ErrorKind::corrupt);
      }
      return stub.limit - range_begin;
    };
    const unsigned word = platform.pointer_size;
    const auto limit = [&](Address of_linear) { return (version == 2 ? 0x300 : of_linear) - word; };
    CHECK(limit_of({}) == limit(0x440));
    CHECK(limit_of(0x4b62390f) == limit(0x400)); // a pointer that is none
    CHECK(limit_of(0x00900000) == limit(0x400)); // a place behind its bucket
  }
}

TEST_CASE("a page of a nibble map is told once, however many of its units are damaged") {
  constexpr Address heap_end = range_begin + (Address{1} << 20); // the map has four pages
  constexpr Address page = 4096 / 4 * NibbleMap::unit_bytes;
  for (const auto& [platform, version] : cases()) {
    INFO(to_string(platform) << " version " << version);
    ExecutionBuilder b(platform, version);
    auto heap = b.heap(range_begin, heap_end);
    const auto damage = [&](Address code) {
      b.memory().write_integer(heap.map->units() + 4 * ((code - range_begin) / NibbleMap::unit_bytes),
                               0x0090'0000, 4);
    };
    for (Address code = range_begin + page; code < range_begin + 2 * page; code += NibbleMap::unit_bytes)
      damage(code);
    damage(range_begin + 3 * page);
    b.method(heap, {.start = range_begin + 2 * page + 0x40, .size = 0x20, .method_desc = 0x1000});
    const Target target = b.target();
    ExecutionManager manager(target);
    std::size_t methods = 0;
    manager.for_each_jitted([&](const JittedBody&) { return ++methods != 0; });
    CHECK(methods == 1);
    REQUIRE(manager.holes().size() == 2);
    CHECK(manager.holes()[0].address == range_begin + page);
    CHECK(manager.holes()[1].address == range_begin + 3 * page);
  }
}

TEST_CASE("a stub reaches as far as the nibble map marks, and nobody knows how far beyond") {
  for (const auto& [platform, version] : cases()) {
    const auto ends_of = [&, platform = platform, version = version](Address size) {
      ExecutionBuilder b(platform, version);
      auto heap = b.heap(range_begin, range_end);
      b.stub(heap, range_begin + 0x140, size, 1);
      b.method(heap, {.start = range_begin + 0x840, .size = 0x20, .method_desc = 0x1000});
      const Target target = b.target();
      ExecutionManager manager(target);
      const StubBlock stub = only_stub(manager);
      return std::pair(stub.least_limit - range_begin, stub.limit - range_begin);
    };
    const unsigned word = platform.pointer_size;
    if (version == 2) {
      CHECK(ends_of(0x20) == std::pair<Address, Address>{0x140, 0x300 - word});
      CHECK(ends_of(0x300) == std::pair<Address, Address>{0x400, 0x500 - word});
    } else {
      CHECK(ends_of(0x300) == std::pair<Address, Address>{0x840 - word, 0x840 - word});
    }
  }
}

TEST_CASE("a section that is being deleted") {
  for (const auto& [platform, version] : cases()) {
    ExecutionBuilder b(platform, version);
    b.section({.begin = range_begin, .end = range_end, .next_for_delete = 0x1234'5670});
    const Target target = b.target();
    ExecutionManager manager(target);
    CHECK(miss_at(manager, range_begin + 8).reason == MissReason::being_deleted);
    CHECK(manager.sections().empty());
    CHECK_FALSE(manager.method_desc_of_entry_point(range_begin + 8));
  }
}

TEST_CASE("ranges of stubs") {
  for (const auto& [platform, version] : cases()) {
    ExecutionBuilder b(platform, version);
    b.types().type("CodeRangeMapRangeList", {{"RangeListType", Width::u32, 0, 32}});
    const Address list = b.types().record("CodeRangeMapRangeList", {{"RangeListType", 3}});
    b.section(
        {.begin = range_begin, .end = range_end, .flags = RangeSection::range_list_flag, .range_list = list});
    const Target target = b.target();
    ExecutionManager manager(target);
    // Without the contract PrecodeStubs there is no telling whose it is.
    const execution::Miss miss = miss_at(manager, range_begin + 0x40);
    CHECK(miss.reason == MissReason::stub);
    CHECK(miss.stub == StubKind::stub_precode);
    CHECK_THAT(miss.text, Catch::Contains("PrecodeStubs"));
  }
}

TEST_CASE("interpreted code is found by its own code header, and has no size") {
  for (const Cpu cpu : {Cpu::x64, Cpu::arm64}) {
    ExecutionBuilder b({.pointer_size = 8, .cpu = cpu});
    b.types().as_net11().type("InterpreterRealCodeHeader",
                              {{"JitEHInfo"}, {"MethodDesc"}, {"GCInfo"}, {"DebugInfo"}});
    auto heap = b.heap(range_begin, range_end, RangeSection::code_heap | RangeSection::interpreter);
    const Address start = range_begin + 0x400;
    b.method(heap, {.start = start, .size = 0x100, .method_desc = 0x5000});
    const Address header =
        b.types().record("InterpreterRealCodeHeader", {{"MethodDesc", 0x7000}, {"DebugInfo", 0x8000}});
    b.memory().at(start - 8).pointer(header);
    const Target target = b.target();
    ExecutionManager manager(target);
    const CodeLookup found = manager.find(start + 0x24);
    REQUIRE(std::holds_alternative<CodeBlock>(found));
    const CodeBlock& block = std::get<CodeBlock>(found);
    CHECK(block.kind == CodeKind::interpreted);
    CHECK(block.method_desc == 0x7000);
    CHECK(manager.relative_offset(block) == 0x24);
    CHECK(manager.regions(block).hot_size == 0);
    CHECK(manager.debug_info(block).address == 0x8000);
    CHECK(manager.functions(block).empty());
    CHECK_FALSE(manager.is_funclet(block));
    CHECK(fault_of([&] { manager.gc_info(block); })->kind() == ErrorKind::unsupported_contract);
    CHECK(std::get<execution::Miss>(manager.find(range_begin + 0x10)).reason == MissReason::no_method);
    std::vector<Address> methods;
    manager.for_each_jitted([&](const JittedBody& body) {
      methods.push_back(body.method_desc);
      return true;
    });
    CHECK(methods == std::vector<Address>{0x7000});
    CHECK(manager.holes().empty());
  }
}

TEST_CASE("the routine that prepares methods is told from native code") {
  ExecutionBuilder b({.pointer_size = 8, .cpu = Cpu::x64});
  b.types().as_net11().variable("ThePreStub", 0x7fff'1230);
  const Target target = b.target();
  ExecutionManager manager(target);
  const execution::Miss miss = miss_at(manager, 0x7fff'1230);
  CHECK(miss.reason == MissReason::stub);
  CHECK(miss.stub == StubKind::prestub);
  CHECK(miss_at(manager, 0x7fff'1231).reason == MissReason::outside);
}

TEST_CASE("jitted bodies are enumerated in order, each once") {
  for (const auto& [platform, version] : cases()) {
    ExecutionBuilder b(platform, version);
    auto first = b.heap(range_begin, range_end);
    auto second = b.heap(0x0b00'0000, 0x0b00'8000);
    for (unsigned i = 0; i < 20; ++i)
      b.method(first, {.start = range_begin + 0x200 + 0x220 * i, .size = 0x200, .method_desc = 0x1000 + i});
    b.stub(second, 0x0b00'0100, 0x20, 6);
    b.method(second, {.start = 0x0b00'0200, .size = 0x1200, .method_desc = 0x2000});
    const Target target = b.target();
    ExecutionManager manager(target);
    std::vector<Address> starts, methods;
    manager.for_each_jitted([&](const JittedBody& body) {
      starts.push_back(body.start);
      methods.push_back(body.method_desc);
      return true;
    });
    REQUIRE(starts.size() == 21);
    CHECK(std::is_sorted(starts.begin(), starts.end()));
    CHECK(methods[7] == 0x1007);
    CHECK(methods[20] == 0x2000);
    CHECK(manager.holes().empty());
    unsigned seen = 0;
    manager.for_each_jitted([&](const JittedBody&) { return ++seen < 3; });
    CHECK(seen == 3);
    CHECK(manager.section_at(0x0b00'0000)->begin == 0x0b00'0000);
    CHECK(manager.section_at(0x0b00'8000) == nullptr);

    // A header that is gone costs its body and no other.
    b.memory().erase(range_begin + 0x200 + 0x220 * 4 - platform.pointer_size, platform.pointer_size);
    seen = 0;
    manager.for_each_jitted([&](const JittedBody&) { return ++seen != 0; });
    CHECK(seen == 20);
    CHECK(manager.holes().size() == 1);
    CHECK(manager.holes()[0].address == range_begin + 0x200 + 0x220 * 4 - platform.pointer_size);
  }
}

TEST_CASE("a map of nibbles with missing pages is enumerated around them") {
  ExecutionBuilder b({.pointer_size = 8, .cpu = Cpu::x64});
  auto heap = b.heap(0x1000'0000, 0x1000'0000 + (std::uint64_t{4} << 20));
  for (unsigned i = 0; i < 4000; ++i)
    b.method(heap, {.start = 0x1000'0040 + 0x400 * Address{i}, .size = 0x40, .method_desc = 0x1000});
  // One page of the map tells of 256 KiB of code.
  const Address page = (heap.map->units() + 4096) & ~Address{4095};
  b.memory().erase(page, 4096);
  const Target target = b.target();
  ExecutionManager manager(target);
  unsigned seen = 0;
  manager.for_each_jitted([&](const JittedBody&) { return ++seen != 0; });
  CHECK(seen == 4000 - 256);
  REQUIRE(manager.holes().size() == 1);
  CHECK(manager.holes()[0].address == page);
}

TEST_CASE("versions of the contract ExecutionManager") {
  for (const auto& [net11, version] : {std::pair{false, "1"}, {false, "2"}, {true, "c1"}}) {
    ExecutionBuilder b({.pointer_size = 8, .cpu = Cpu::x64});
    if (net11) b.types().as_net11();
    b.types().contract("ExecutionManager", std::string(version));
    const Target target = b.target();
    CHECK_FALSE(fault_of([&] { ExecutionManager manager(target); }));
  }
  for (const auto& [net11, version] :
       {std::pair{false, "3"}, {false, "c1"}, {false, "new"}, {true, "1"}, {true, "2"}, {true, "c2"}}) {
    ExecutionBuilder b({.pointer_size = 8, .cpu = Cpu::x64});
    if (net11) b.types().as_net11();
    b.types().contract("ExecutionManager", std::string(version));
    const Target target = b.target();
    const auto fault = fault_of([&] { ExecutionManager manager(target); });
    REQUIRE(fault);
    CHECK(fault->kind() == ErrorKind::unsupported_contract);
    CHECK_THAT(fault->what(), Catch::Contains("contract ExecutionManager has version"));
  }
}

TEST_CASE("unknown contracts of precodes and GC info cost no lookup of jitted code") {
  for (const char* contract : {"PrecodeStubs", "GCInfo"}) {
    ExecutionBuilder b({.pointer_size = 8, .cpu = Cpu::x64});
    auto heap = b.heap(0x10'0000, 0x20'0000);
    b.method(heap, {.start = 0x10'1000, .size = 0x100, .method_desc = 0x5000});
    b.types().as_net11().contract(contract, "c9");
    const Target target = b.target();
    ExecutionManager manager(target);
    const CodeLookup found = manager.find(0x10'1020);
    REQUIRE(std::holds_alternative<CodeBlock>(found));
    CHECK(manager.regions(std::get<CodeBlock>(found)).hot_size == 0x100);
    const auto fault = std::string_view(contract) == "GCInfo"
                           ? fault_of([&] { manager.gc_info(std::get<CodeBlock>(found)); })
                           : fault_of([&] { Precodes(target).at_entry(0x10'1000); });
    REQUIRE(fault);
    CHECK_THAT(fault->what(), Catch::Contains(std::string("contract ") + contract + " has version \"c9\""));
  }
}

TEST_CASE("a runtime that publishes a map but no version") {
  for (const unsigned written : {1u, 2u}) {
    ExecutionBuilder b({.pointer_size = 8, .cpu = Cpu::x64}, written);
    b.types().descriptor().contracts.clear();
    auto heap = b.heap(range_begin, range_end);
    b.method(heap, {.start = method_start, .size = method_size, .method_desc = method_desc});
    const Target target = b.target();
    ExecutionManager manager(target);
    CHECK(block_at(manager, method_start + method_size - 1).method_desc == method_desc);
  }
}

TEST_CASE("portable entry points") {
  ExecutionBuilder b({.pointer_size = 4, .cpu = Cpu::x86});
  b.types()
      .global("FeaturePortableEntrypoints", 1, "uint8")
      .type("PortableEntryPoint", {{"Code"}, {"MethodDesc"}});
  const Address entry = b.types().record("PortableEntryPoint", {{"MethodDesc", method_desc}});
  const Address none = b.types().record("PortableEntryPoint");
  const Target target = b.target();
  ExecutionManager manager(target);
  CHECK(manager.method_desc_of_entry_point(entry) == method_desc);
  CHECK_FALSE(manager.method_desc_of_entry_point(none));
}

TEST_CASE("whether debug info begins with a flag byte") {
  struct Row {
    Cpu cpu;
    std::optional<unsigned> feature;
    std::optional<unsigned> rich;
    bool expected;
  };
  for (const Row& row :
       {Row{Cpu::x64, {}, {}, true}, Row{Cpu::x64, 0, {}, false}, Row{Cpu::x86, {}, {}, false},
        Row{Cpu::x86, 1, {}, true}, Row{Cpu::x64, {}, 0, false}, Row{Cpu::x64, {}, 1, true}}) {
    ExecutionBuilder b({.pointer_size = row.cpu == Cpu::x64 ? 8u : 4u, .cpu = row.cpu});
    if (row.feature) b.types().global("FeatureOnStackReplacement", *row.feature, "uint8");
    if (row.rich) {
      b.types().type("EEJitManager", {{"StoreRichDebugInfo", Width::u8, 0, 20}});
      b.memory().at(0x000b'ff00).fill(20).u8(*row.rich);
    }
    auto heap = b.heap(range_begin, range_end);
    b.method(heap,
             {.start = method_start, .size = method_size, .method_desc = method_desc, .debug_info = 0x5000});
    const Target target = b.target();
    ExecutionManager manager(target);
    CHECK(manager.debug_info(block_at(manager, method_start)).has_flag_byte == row.expected);
  }
}

TEST_CASE("what a lookup of jitted code costs") {
  ExecutionBuilder b({.pointer_size = 8, .cpu = Cpu::x64});
  auto heap = b.heap(range_begin, range_end);
  b.method(heap,
           {.start = method_start, .size = method_size, .method_desc = method_desc, .funclets = {0x300}});
  b.method(heap, {.start = method_start + 0x500, .size = 0x100, .method_desc = method_desc + 8});
  CountingReader counting(b.memory());
  const Target target(counting, b.types().contract_descriptor(), b.memory().platform());
  ExecutionManager manager(target);
  CHECK(counting.reads() == 0);
  CodeBlock block = block_at(manager, method_start + 0x10);
  // 5 tables, a fragment, the section; the heap, the nibble map, the word before the code, the header, its
  // first and last unwind entry, GC info; two units of the nibble map for the last byte.
  CHECK(counting.reads() == 16);
  counting.reset();
  block = block_at(manager, method_start + method_size - 1);
  manager.regions(block);
  manager.relative_offset(block);
  manager.gc_info(block);
  CHECK(counting.reads() == 0);
  const CodeBlock plain = block_at(manager, method_start + 0x500); // the section is known
  CHECK(counting.reads() <= 9);
  counting.reset();
  CHECK_FALSE(manager.is_funclet(plain)); // it is one function, as the lookup saw
  CHECK(manager.funclet_start(plain) == method_start + 0x500);
  CHECK(counting.reads() == 0);
  manager.is_funclet(block);
  manager.unwind_info(block);
  CHECK(counting.reads() <= 4);
}

TEST_CASE("a heap whose memory is lent holds the same code, without reads for its map and its blocks") {
  for (const auto& [platform, version] : cases()) {
    INFO(to_string(platform) << " version " << version);
    ExecutionBuilder b(platform, version);
    b.memory().at(range_begin).fill(range_end - range_begin); // the code itself
    auto heap = b.heap(range_begin, range_end);
    std::vector<Address> starts;
    for (Address start = range_begin + 0x40; start < range_begin + 0x8000; start += 0x240) {
      starts.push_back(start);
      b.method(heap, {.start = start, .size = 0x200, .method_desc = method_desc + starts.size() * 8});
    }
    LendingReader lending(b.memory());
    const Target lent(lending, b.types().contract_descriptor(), platform), read = b.target();
    ExecutionManager one(lent), other(read);
    const auto bodies = [](ExecutionManager& manager) {
      std::vector<std::pair<Address, Address>> found;
      manager.for_each_jitted([&](const JittedBody& body) {
        found.emplace_back(body.start, body.method_desc);
        return true;
      });
      return found;
    };
    CHECK(bodies(one) == bodies(other));
    CHECK(bodies(one).size() == starts.size());
    block_at(one, starts.front());
    const std::size_t before = lending.reads();
    block_at(one, starts.back() + 0x1f0);
    // The header, its first unwind entry and the GC info; the unwind data, where entries have no end.
    CHECK(lending.reads() - before == (platform.cpu == Cpu::x64 ? 3 : 4));
    for (Address ip = range_begin; ip < range_begin + 0x8800; ip += 0x14) {
      const CodeLookup a = one.find(ip), c = other.find(ip);
      REQUIRE(a.index() == c.index());
      if (a.index() == 0) {
        CHECK(std::get<CodeBlock>(a).start == std::get<CodeBlock>(c).start);
        CHECK(std::get<CodeBlock>(a).method_desc == std::get<CodeBlock>(c).method_desc);
      } else {
        CHECK(std::get<execution::Miss>(a).text == std::get<execution::Miss>(c).text);
      }
    }
  }
}

TEST_CASE("reads that fail one by one never make a wrong answer") {
  for (const auto& [platform, version] : cases()) {
    INFO(to_string(platform) << " version " << version);
    ExecutionBuilder b(platform, version);
    auto heap = b.heap(range_begin, range_end);
    b.method(heap, {.start = method_start,
                    .size = method_size,
                    .method_desc = method_desc,
                    .funclets = {0x300},
                    .debug_info = 0x5000});
    const ContractDescriptor descriptor = b.types().contract_descriptor();
    const std::uint64_t reads =
        for_each_failing_read(b.memory(), [&](MemoryReader& memory, std::uint64_t failing) {
          const Target target(memory, descriptor, platform);
          ExecutionManager manager(target);
          const auto fault = fault_of([&] {
            const CodeBlock block = block_at(manager, method_start + 0x310);
            CHECK(block.method_desc == method_desc);
            CHECK(block.start == method_start);
            const std::uint64_t size = manager.regions(block).hot_size;
            CHECK(size == method_size);
            const std::uint64_t offset = manager.relative_offset(block);
            CHECK(offset == 0x310);
            const Address funclet = manager.funclet_start(block);
            CHECK(funclet == method_start + 0x300);
            const bool is_funclet = manager.is_funclet(block);
            CHECK(is_funclet);
            const Address unwind_info = manager.unwind_info(block);
            CHECK(unwind_info != 0);
            const Address debug_info = manager.debug_info(block).address;
            CHECK(debug_info == 0x5000);
            const Address gc_info = manager.gc_info(block).address;
            CHECK(gc_info != 0);
            const execution::Miss behind = miss_at(manager, method_start + method_size);
            CHECK(behind.reason == MissReason::gap);
            const auto method = manager.method_desc_of_entry_point(method_start);
            CHECK(method == method_desc);
          });
          if (failing == 0) CHECK_FALSE(fault);
          if (fault) CHECK(fault->kind() == ErrorKind::memory_missing);
        });
    CHECK(reads > 10);
    // Enumerations tell what they missed.
    for_each_failing_read(b.memory(), [&](MemoryReader& memory, std::uint64_t failing) {
      const Target target(memory, descriptor, platform);
      ExecutionManager manager(target);
      std::vector<Address> starts;
      manager.for_each_jitted([&](const JittedBody& body) {
        starts.push_back(body.start);
        CHECK(body.method_desc == method_desc);
        return true;
      });
      if (failing == 0) CHECK(manager.holes().empty());
      CHECK((starts.size() == 1 || !manager.holes().empty()));
      if (!starts.empty()) CHECK(starts == std::vector{method_start});
    });
  }
}

TEST_CASE("a code header of another method is not believed") {
  for (const auto& [platform, version] : cases()) {
    INFO(to_string(platform));
    ExecutionBuilder b(platform, version);
    auto heap = b.heap(range_begin, range_end);
    const Address start = range_begin + 0x200, other = range_begin + 0x800;
    b.method(heap, {.start = start, .size = 0x100, .method_desc = 0x1000});
    const Address header = b.method(heap, {.start = other, .size = 0x100, .method_desc = 0x2000});
    b.memory().at(start - platform.pointer_size).pointer(header);
    const Target target = b.target();
    ExecutionManager manager(target);
    const auto fault = fault_of([&] { manager.find(start + 8); });
    REQUIRE(fault);
    CHECK(fault->kind() == ErrorKind::corrupt);
    CHECK_THAT(fault->what(), Catch::Contains("belongs to other code"));
    CHECK(std::get<CodeBlock>(manager.find(other + 8)).method_desc == 0x2000);
    std::vector<Address> starts;
    manager.for_each_jitted([&](const JittedBody& body) {
      starts.push_back(body.start);
      return true;
    });
    CHECK(starts == std::vector<Address>{other});
    CHECK(manager.holes().size() == 1);
  }
}

TEST_CASE("a length that reaches into other code does not hide that code") {
  for (const auto& [platform, version] : cases()) {
    INFO(to_string(platform));
    ExecutionBuilder b(platform, version);
    auto heap = b.heap(range_begin, range_end);
    const Address start = range_begin + 0x200, other = range_begin + 0x800;
    const Address header = b.method(heap, {.start = start, .size = 0x100, .method_desc = 0x1000});
    b.method(heap, {.start = other, .size = 0x100, .method_desc = 0x2000});
    const Address lie = b.memory().place(gc_info_bytes(platform.cpu, 4, 0x700));
    b.memory().at(header + static_cast<Address>(b.types().offset("RealCodeHeader", "GCInfo"))).pointer(lie);
    // Without unwind data that contradict it.
    b.memory().at(header + static_cast<Address>(b.types().offset("RealCodeHeader", "NumUnwindInfos"))).u32(0);
    const Target target = b.target();
    ExecutionManager manager(target);
    const auto fault = fault_of([&] { manager.find(start + 8); });
    REQUIRE(fault);
    CHECK_THAT(fault->what(), Catch::Contains("reach into other code"));
    CHECK(std::get<CodeBlock>(manager.find(other + 8)).method_desc == 0x2000);
  }
}

TEST_CASE("GC info that contradicts the unwind data gives no name to memory that nothing claims") {
  std::vector<Platform> platforms = execution_platforms();
  platforms.push_back({.pointer_size = 8, .cpu = Cpu::arm64});
  for (const Platform& platform : platforms)
    for (const bool funclets : {false, true})
      // What the method's GC info says; its unwind data say 0x400 bytes.
      for (const std::uint64_t claimed : {0x400u, 0x404u, 0x1000u, 0x3fcu, 4u}) {
        INFO(to_string(platform) << " " << to_string(platform.cpu) << " " << claimed << " bytes"
                                 << (funclets ? " with a funclet" : ""));
        ExecutionBuilder b(platform);
        auto heap = b.heap(range_begin, range_end);
        b.method(heap, {.start = method_start - 0x800, .size = 0x100, .method_desc = 0x2000});
        const Address header =
            b.method(heap, {.start = method_start,
                            .size = 0x400,
                            .method_desc = method_desc,
                            .funclets = funclets ? std::vector{0x300u} : std::vector<std::uint32_t>{}});
        b.memory()
            .at(header + static_cast<Address>(b.types().offset("RealCodeHeader", "GCInfo")))
            .pointer(b.memory().place(gc_info_bytes(platform.cpu, 4, claimed)));
        const Target target = b.target();
        ExecutionManager manager(target);
        for (const Address ip : {method_start, method_start + 0x3ff, method_start + 0x400}) {
          const auto fault = fault_of([&] {
            const CodeLookup found = manager.find(ip);
            CHECK((found.index() == 0) == (ip < method_start + 0x400));
          });
          CHECK(fault.has_value() == (claimed != 0x400));
          if (!fault) continue;
          CHECK(fault->kind() == ErrorKind::corrupt);
          CHECK_THAT(fault->what(),
                     Catch::Contains(std::to_string(claimed) + " bytes of code by its GC info and 1024 by"));
        }
        CHECK(block_at(manager, method_start - 0x800).method_desc == 0x2000);
      }
}

TEST_CASE("a walk over heaps that claim any amount of code ends, and says what it left out") {
  constexpr Address second = 0x2000'0000, map_at = 0x7000'0000;
  constexpr std::uint64_t size = WalkLimit::max_blocks * 3 / 4 * NibbleMap::bucket_bytes;
  constexpr unsigned stub_kind = 6;
  const Platform platform{.pointer_size = 8, .cpu = Cpu::x64};
  ExecutionBuilder b(platform);
  for (const Address begin : {Address{range_begin}, second}) {
    const auto heap = b.heap(begin, begin + size);
    b.memory()
        .at(heap.node + static_cast<Address>(b.types().offset("CodeHeapListNode", "HeaderMap")))
        .pointer(map_at);
  }
  std::vector<std::byte> word(8);
  word.front() = std::byte(stub_kind);
  RepeatingReader reader(b.memory(), {{map_at, map_at + size / 8, {std::byte{0x11}}},
                                      {range_begin, range_begin + size, word},
                                      {second, second + size, word}});
  const Target target(reader, b.types().contract_descriptor(), platform);
  ExecutionManager manager(target);
  manager.for_each_jitted([](const JittedBody&) { return true; });
  // The words before the heaps and behind the first are missing, too.
  REQUIRE_FALSE(manager.holes().empty());
  CHECK_THAT(manager.holes().back().what, Catch::Contains("more code than 524288 blocks"));
  CHECK(manager.holes().back().address > second);
  // Alone, a heap is within the limit; both are not.
  WalkLimit limit;
  std::size_t stubs = 0;
  const auto walk = [&](const RangeSection& section) {
    return manager.for_each_jitted_in(
        section, limit, [](const JittedBody&) { return true; }, [&](const StubBlock&) { ++stubs; });
  };
  REQUIRE(manager.sections().size() == 2);
  CHECK(walk(manager.sections()[0]));
  CHECK(stubs == size / NibbleMap::bucket_bytes - 1); // the kind of the first stands before the heap
  CHECK_FALSE(limit.spent());
  CHECK_FALSE(walk(manager.sections()[1]));
  CHECK(limit.spent());
  CHECK(stubs <= WalkLimit::max_blocks);
}

TEST_CASE("a code heap is no larger than its unwind entries can tell") {
  const Platform platform{.pointer_size = 8, .cpu = Cpu::x64};
  for (const bool larger : {false, true}) {
    ExecutionBuilder b(platform);
    const auto heap = b.heap(range_begin, range_end);
    const auto field = [&](std::string_view type, std::string_view name) {
      return static_cast<Address>(b.types().offset(type, name));
    };
    const Address end = range_begin + (Address{1} << 32) + (larger ? 1 : 0);
    b.memory().at(heap.node + field("CodeHeapListNode", "EndAddress")).pointer(end);
    b.memory().at(heap.section + field("RangeSection", "RangeEndOpen")).pointer(end);
    const Target target = b.target();
    ExecutionManager manager(target);
    RangeSection section;
    section.begin = range_begin;
    section.end = end;
    section.flags = RangeSection::code_heap;
    section.heap_list = heap.node;
    WalkLimit limit;
    std::size_t holes = manager.holes().size();
    manager.for_each_jitted_in(section, limit, [](const JittedBody&) { return true; });
    const bool refused = manager.holes().size() > holes &&
                         manager.holes()[holes].what.find("code heap from") != std::string::npos;
    CHECK(refused == larger);
  }
}

TEST_CASE("the fragments of a long function are looked through once") {
  constexpr std::uint32_t parts = 1500, part = 16, funclet = 700, missing = 1200;
  constexpr Address start = 0x2000'0040, unwind_bytes = 12;
  const Platform platform{.pointer_size = 8, .cpu = Cpu::arm64};
  for (const bool broken : {false, true}) {
    ExecutionBuilder b(platform);
    auto heap = b.heap(0x2000'0000, 0x2010'0000);
    std::vector<std::uint32_t> begins;
    for (std::uint32_t i = 1; i < parts; ++i) begins.push_back(i * part);
    b.method(heap, {.start = start, .size = parts * part, .method_desc = method_desc, .funclets = begins});
    const Address unwind = start + parts * part;
    for (std::uint32_t i = 1; i < parts; ++i)
      if (i != funclet) b.memory().at(unwind + i * unwind_bytes + 4).u8(0xE5); // end_c
    if (broken) b.memory().erase(unwind + missing * unwind_bytes, unwind_bytes);
    CountingReader counting(b.memory());
    const Target target(counting, b.types().contract_descriptor(), platform);
    ExecutionManager manager(target);
    const auto start_of = [&](std::uint32_t i) {
      return manager.funclet_start(block_at(manager, start + i * part));
    };
    const auto last = [&] {
      if (broken)
        CHECK(fault_of([&] { start_of(parts - 1); })->kind() == ErrorKind::memory_missing);
      else
        CHECK(start_of(parts - 1) == start + funclet * part);
    };
    last();
    CHECK(counting.reads() > parts - missing);
    counting.reset();
    for (int i = 0; i < 3; ++i) last();
    CHECK(counting.reads() <= 3 * 3);
    CHECK(start_of(missing - 1) == start + funclet * part);
    counting.reset();
    for (std::uint32_t i = parts; i-- > missing + 1;)
      if (!broken) CHECK(start_of(i) == start + funclet * part);
    CHECK(start_of(missing - 2) == start + funclet * part);
    CHECK(start_of(funclet) == start + funclet * part);
    CHECK(counting.reads() == 0);
    CHECK(start_of(funclet - 1) == start);
    counting.reset();
    CHECK(start_of(0) == start);
    CHECK(start_of(funclet / 2) == start);
    CHECK(counting.reads() == 0);
  }
}
