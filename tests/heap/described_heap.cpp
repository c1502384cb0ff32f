#include "tests/heap/described_heap.h"

#include <array>
#include <vector>

namespace clr::test {

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

ContractHandles describe_handles_by_contract(HeapRuntime& runtime) {
  constexpr std::uint8_t no_block = 0xff;
  constexpr Address block_types = 1560, tails = 3000, links = 3200;
  const Address segment = runtime.handle_segment();
  for (unsigned kind = 0; kind < 13; ++kind) { // the last one is that of user data
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
      .global("HandleMaxInternalTypes", 13, "uint32")
      .global("BlockInvalid", no_block, "uint8");
  return {segment + tails, segment + links};
}

} // namespace clr::test
