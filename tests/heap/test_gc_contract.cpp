// The managed heap by .NET 11's contract GC: what it finds is what the collector's own table leads to.
#include "core/heap/gc_contract.h"
#include "core/heap/gc_handles.h"
#include "tests/heap/described_heap.h"
#include "tests/support/faults.h"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace clr;
using namespace clr::test;

namespace {

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
  const ContractHandles places = describe_handles_by_contract(runtime);
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
  runtime.memory.write_integer(places.links + 0, 0, 1);
  runtime.memory.write_integer(places.tails + 2, 1, 1);
  runtime.memory.write_integer(places.links + 1, 0, 1);
  CHECK(read().problems.size() == 1);
  runtime.memory.write_integer(places.tails + 2, 121, 1);
  CHECK(read().problems.size() == 1);
  runtime.t.descriptor().types["TableSegment"].fields["RgTail"].offset = -8;
  CHECK_THAT(fault_of([&] { read(); })->what(), Catch::Contains("TableSegment.RgTail at offset -8"));
  runtime.t.descriptor().types["TableSegment"].fields.erase("RgTail");
  CHECK_THAT(fault_of([&] { read(); })->what(), Catch::Contains("TableSegment.RgTail"));
}

TEST_CASE("each segment of handles by the contract has bytes of its own, and each block one kind", "[heap]") {
  HeapRuntime runtime(Platform{});
  fill(runtime, 1);
  runtime.handle(2, 0x1000);
  runtime.handle(3, 0x2000);
  describe_by_contract(runtime, true, false);
  const ContractHandles places = describe_handles_by_contract(runtime);
  const auto read = [&] {
    const Target target = runtime.target();
    return read_handles(target, read_gc_state(target, HeapRuntime::module));
  };
  CHECK(read().handles.size() == 2);
  const Address next = runtime.handle_segment() + 1920 + 6 * 13;
  SECTION("a segment that begins within another one") {
    runtime.set_word(next, runtime.handle_segment() + 16);
  }
  SECTION("a segment that ends within another one") {
    runtime.set_word(next, runtime.handle_segment() - 16);
  }
  SECTION("a segment behind which memory ends") {
    runtime.set_word(next, ~Address{0} - 0xffff);
  }
  const GcHandles in_others = read();
  CHECK(in_others.handles.size() == 2);
  if (runtime.target().read_pointer(next) != 0) {
    REQUIRE(in_others.problems.size() == 1);
    CHECK_THAT(in_others.problems[0],
               Catch::Contains("that lies in another one") || Catch::Contains("that wraps"));
  }
  runtime.set_word(next, 0);
  // The blocks of pinned handles are those of strong ones, too.
  runtime.memory.write_integer(places.tails + 3, 0, 1);
  const GcHandles twice = read();
  CHECK(twice.handles.size() == 1);
  CHECK(twice.problems.size() == 1);
}

TEST_CASE("a server's handles lie in as many tables as its machine has processors", "[heap]") {
  HeapRuntime runtime(Platform{}, true, 2);
  fill(runtime, 2);
  runtime.handle(2, 0x1000);
  describe_by_contract(runtime, true, true);
  describe_handles_by_contract(runtime);
  const auto read = [&] {
    const Target target = runtime.target();
    return read_handles(target, read_gc_state(target, HeapRuntime::module));
  };
  CHECK_THAT(fault_of([&] { read(); })->what(), Catch::Contains("no global TotalCpuCount"));
  // The global is the address of a variable, as in .NET 11.0.0.
  const Address count = runtime.memory.allocate(8);
  runtime.t.pointer_global("TotalCpuCount", count);
  runtime.memory.write_integer(count, 2, 4);
  const auto one_problem = [&](const std::string& what) {
    const GcHandles found = read();
    CHECK(found.handles.size() == 1);
    REQUIRE(found.problems.size() == 1);
    CHECK_THAT(found.problems.front(), Catch::Contains(what));
  };
  one_problem("a bucket lacks table 1 of 2");
  const Target target = runtime.target();
  const Address buckets = target.read_pointer(read_gc_state(target, HeapRuntime::module).handle_table_map);
  const Address tables = target.read_pointer(target.read_pointer(buckets));
  runtime.memory.write_integer(tables + 8, runtime.handle_table(), 8);
  one_problem("a bucket has a table that came before");
  runtime.memory.write_integer(count, 1, 4);
  CHECK(read().problems.empty());
  // Far more tables than the bucket has.
  runtime.memory.write_integer(count, 4096, 4);
  const GcHandles beyond = read();
  CHECK(beyond.handles.size() == 1);
  CHECK(beyond.problems.size() <= 1);
  runtime.memory.write_integer(count, 0, 4);
  CHECK_THAT(fault_of([&] { read(); })->what(), Catch::Contains("TotalCpuCount = 0"));
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
