// The managed heap by .NET 11's contract GC: what it finds is what the collector's own table leads to.
#include "core/heap/gc_contract.h"
#include "core/heap/gc_handles.h"
#include "tests/heap/heap_runtime.h"
#include "tests/support/faults.h"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace clr;
using namespace clr::test;

namespace {

// Describes the collector of `runtime` in the format of .NET 11, by the words of its GcDacVars.
void describe_by_contract(HeapRuntime& runtime, bool regions, bool server) {
  TargetBuilder& t = runtime.t;
  const Target target = t.target();
  const std::uint64_t word = runtime.word;
  const auto dac_word = [&](std::size_t index) {
    return target.read_pointer(runtime.variables + index * word);
  };
  const auto field_of = [&](std::size_t array, std::size_t index) {
    return static_cast<std::int64_t>(target.read_u32(dac_word(array) + 4 * index));
  };
  t.as_net11().contract("GC", "c1");
  auto& types = t.descriptor().types;
  types["Generation"] = {.size = static_cast<std::uint32_t>(dac_word(1)),
                         .fields = {{"AllocationContext", {.offset = field_of(31, 0)}},
                                    {"StartSegment", {.offset = field_of(31, 1)}}}};
  if (!regions) types["Generation"].fields["AllocationStart"] = {.offset = field_of(31, 2)};
  const auto at = [&](std::int64_t index) {
    return FieldDescriptor{.offset = index * static_cast<std::int64_t>(word)};
  };
  types["HeapSegment"] = {.size = {},
                          .fields = {{"Allocated", at(0)},
                                     {"Committed", at(1)},
                                     {"Reserved", at(2)},
                                     {"Used", at(3)},
                                     {"Mem", at(4)},
                                     {"Flags", at(5)},
                                     {"Next", at(6)}}};
  types["CFinalize"].fields["FillPointers"] = {.offset = 0};
  t.global("GCIdentifiers", server ? "server, regions,background" : "workstation,regions, background");
  t.global("TotalGenerationCount", 5, "uint32");
  t.pointer_global("StructureInvalidCount", dac_word(24));
  t.pointer_global("CurrentGCState", dac_word(9));
  t.pointer_global("HandleTableMap", dac_word(29));
  if (server) {
    t.pointer_global("NumHeaps", dac_word(22)).pointer_global("Heaps", dac_word(23));
    types["GCHeap"].fields = {{"AllocAllocated", {.offset = field_of(30, 0)}},
                              {"EphemeralHeapSegment", {.offset = field_of(30, 1)}},
                              {"FinalizeQueue", {.offset = field_of(30, 2)}},
                              {"GenerationTable", {.offset = field_of(30, 18)}}};
  } else {
    t.pointer_global("GCHeapGenerationTable", dac_word(6))
        .pointer_global("GCHeapEphemeralHeapSegment", dac_word(10))
        .pointer_global("GCHeapAllocAllocated", dac_word(15))
        .pointer_global("GCHeapFinalizeQueue", dac_word(18));
  }
}

void fill(HeapRuntime& runtime, unsigned heaps) {
  const unsigned word = runtime.word;
  for (unsigned heap = 0; heap < heaps; ++heap) {
    for (const unsigned generation : {2u, 3u, 4u}) {
      const Address begin = runtime.fresh_region();
      runtime.segment(heap, generation, begin, begin + (generation + 3 + heap) * word);
    }
    const Address young = runtime.fresh_region();
    runtime.set_ephemeral(heap, runtime.segment(heap, 0, young, young), young + 9 * word);
    runtime.context(heap, 0, young + word, young + 2 * word);
  }
}

} // namespace

TEST_CASE("the contract GC leads to the heap that the collector's own table leads to", "[heap]") {
  for (const Platform& platform : all_platforms())
    for (const bool regions : {true, false})
      for (const unsigned server : {0u, 2u}) {
        INFO(to_string(platform) << (regions ? " regions" : " segments") << ", heaps " << server);
        HeapRuntime runtime(platform, regions, server);
        fill(runtime, std::max(server, 1u));
        const HeapMap by_table = read_heap_map(runtime.target(), HeapRuntime::module);
        REQUIRE(by_table.ranges.size() >= (regions ? 4u : 3u)); // segments hold several generations
        describe_by_contract(runtime, regions, server != 0);
        // Nothing else leads there.
        runtime.memory.erase(HeapRuntime::module, 64);
        const HeapMap by_contract = read_heap_map(runtime.target(), HeapRuntime::module);
        CHECK(by_contract.problems == by_table.problems);
        CHECK(by_contract.state.server == (server != 0));
        CHECK(by_contract.state.regions() == regions);
        CHECK(by_contract.state.background == by_table.state.background);
        CHECK(by_contract.state.handle_table_map == by_table.state.handle_table_map);
        CHECK(by_contract.bytes() == by_table.bytes());
        CHECK(by_contract.committed_bytes == by_table.committed_bytes);
        REQUIRE(by_contract.ranges.size() == by_table.ranges.size());
        for (std::size_t i = 0; i < by_table.ranges.size(); ++i) {
          CHECK(by_contract.ranges[i].begin == by_table.ranges[i].begin);
          CHECK(by_contract.ranges[i].end == by_table.ranges[i].end);
          CHECK(by_contract.ranges[i].part == by_table.ranges[i].part);
          CHECK(by_contract.ranges[i].heap == by_table.ranges[i].heap);
        }
        CHECK(by_contract.contexts.size() == by_table.contexts.size());
      }
}

TEST_CASE("handles by the contract are those of the collector's tables", "[heap]") {
  HeapRuntime runtime(Platform{});
  fill(runtime, 1);
  for (const unsigned kind : {2u, 3u, 1u, 2u, 9u}) runtime.handle(kind, 0x1000 * (kind + 1));
  runtime.handle(6, 0x9000, 0xA000);
  runtime.handle(2, 0); // free
  const auto read = [&] {
    const Target target = runtime.target();
    return read_handles(target, read_gc_state(target, HeapRuntime::module));
  };
  const GcHandles by_table = read();
  REQUIRE(by_table.handles.size() == 6);
  describe_by_contract(runtime, true, false);
  // What the contract walks: for each kind a ring of blocks, which the tail leads to.
  constexpr std::uint8_t no_block = 0xff;
  constexpr Address block_types = 1560, tails = 3000, links = 3200;
  const Address segment = runtime.handle_segment();
  for (unsigned kind = 0; kind < 12; ++kind) {
    std::vector<unsigned> blocks;
    for (unsigned block = 0; block < 120; ++block) {
      std::array<std::byte, 1> type{};
      runtime.memory.read(segment + block_types + block, type);
      if (std::to_integer<unsigned>(type[0]) == kind) blocks.push_back(block);
    }
    runtime.memory.write_integer(segment + tails + kind, blocks.empty() ? no_block : blocks.back(), 1);
    for (std::size_t i = 0; i < blocks.size(); ++i)
      runtime.memory.write_integer(segment + links + blocks[i], blocks[(i + 1) % blocks.size()], 1);
  }
  auto& types = runtime.t.descriptor().types;
  types["HandleTableMap"].fields = {{"BucketsPtr", {.offset = 0}}, {"Next", {.offset = 8}}};
  types["HandleTableBucket"].fields = {{"Table", {.offset = 0}}};
  types["HandleTable"].fields = {{"SegmentList", {.offset = 56}}};
  types["TableSegment"].fields = {{"NextSegment", {.offset = 1920 + 6 * 13}},
                                  {"RgTail", {.offset = tails}},
                                  {"RgAllocation", {.offset = links}},
                                  {"RgValue", {.offset = 4096}},
                                  {"RgUserData", {.offset = 1680}}};
  runtime.t.global("InitialHandleTableArraySize", 10, "uint32")
      .global("HandleBlocksPerSegment", 120, "uint32")
      .global("HandlesPerBlock", 64, "uint32")
      .global("HandleMaxInternalTypes", 12, "uint32")
      .global("BlockInvalid", no_block, "uint8");
  const GcHandles by_contract = read();
  CHECK(by_contract.problems.empty());
  REQUIRE(by_contract.handles.size() == by_table.handles.size());
  for (const GcHandle& handle : by_table.handles) {
    const auto same = std::ranges::find(by_contract.handles, handle.slot, &GcHandle::slot);
    REQUIRE(same != by_contract.handles.end());
    CHECK(same->kind == handle.kind);
    CHECK(same->object == handle.object);
    CHECK(same->dependent == handle.dependent);
  }
  // A ring that does not come back, and a block that there is not.
  runtime.memory.write_integer(segment + links + 0, 0, 1);
  runtime.memory.write_integer(segment + tails + 2, 1, 1);
  runtime.memory.write_integer(segment + links + 1, 0, 1);
  CHECK(read().problems.size() == 1);
  runtime.memory.write_integer(segment + tails + 2, 121, 1);
  CHECK(read().problems.size() == 1);
  types["TableSegment"].fields.erase("RgTail");
  CHECK_THAT(fault_of([&] { read(); })->what(), Catch::Contains("TableSegment.RgTail"));
}

TEST_CASE("a collector that is not described, or in another version, has no heap and says why", "[heap]") {
  HeapRuntime runtime(Platform{});
  fill(runtime, 1);
  describe_by_contract(runtime, true, false);
  const auto fault = [&](const auto& edit) {
    ContractDescriptor descriptor = runtime.t.contract_descriptor();
    edit(descriptor);
    const Target target(runtime.memory, descriptor, Platform{});
    const auto error = fault_of([&] { read_gc_state(target, HeapRuntime::module); });
    REQUIRE(error);
    CHECK(error->kind() == ErrorKind::unsupported_contract);
    return std::string(error->what());
  };
  CHECK(fault([](ContractDescriptor& d) { d.contracts.erase("GC"); }) ==
        "the runtime's descriptor does not list the contract GC");
  CHECK_THAT(fault([](ContractDescriptor& d) { d.contracts["GC"] = "c2"; }),
             Catch::Contains("contract GC has version"));
  CHECK_THAT(fault([](ContractDescriptor& d) { d.types.erase("HeapSegment"); }),
             Catch::Contains("HeapSegment"));
  CHECK_THAT(fault([](ContractDescriptor& d) { d.types["Generation"].size = 0; }),
             Catch::Contains("no size"));
  CHECK_THAT(fault([](ContractDescriptor& d) { d.globals["GCIdentifiers"].text = "other"; }),
             Catch::Contains("GCIdentifiers \"other\""));
  CHECK_THAT(fault([](ContractDescriptor& d) { d.globals["TotalGenerationCount"].number = 99; }),
             Catch::Contains("99 generations"));
}
