// Runtimes that do not describe themselves: addresses by their index in g_dacTable, and known layouts.
#include "core/target/known_layouts.h"
#include "tests/support/faults.h"
#include "tests/support/target_builder.h"

#include <catch2/catch.hpp>

#include <fstream>

using namespace clr;
using namespace clr::test;

namespace {

ContractDescriptor empty(Cpu cpu, unsigned pointer_size = 8) {
  ContractDescriptor descriptor;
  descriptor.platform = {
      .pointer_size = pointer_size, .byte_order = ByteOrder::little, .cpu = cpu, .os = Os::unix_like};
  return descriptor;
}

// A table of `count` slots; slot n holds 0x5000 + n.
DacTable place_table(MemoryBuilder& memory, std::size_t count) {
  auto cursor = memory.fresh(8 * count);
  const DacTable table{.address = cursor.address(), .size = 8 * count};
  for (std::size_t n = 0; n < count; ++n) cursor.u64(0x5000 + n);
  return table;
}

ContractDescriptor completed(std::size_t slots, ContractDescriptor descriptor) {
  MemoryBuilder memory;
  REQUIRE(complete_from_dac_table(memory, place_table(memory, slots), descriptor));
  return descriptor;
}

std::optional<std::uint64_t> root(const ContractDescriptor& descriptor, const char* name) {
  const auto found = descriptor.globals.find(name);
  return found == descriptor.globals.end() ? std::nullopt : found->second.number;
}

Fault fault(std::size_t slots, ContractDescriptor descriptor) {
  MemoryBuilder memory;
  const DacTable table = place_table(memory, slots);
  return fault_of([&] { complete_from_dac_table(memory, table, descriptor); });
}

ContractDescriptor real(const char* name) {
  std::ifstream file(std::string(CLR_TEST_DATA) + "/target/data/" + name);
  REQUIRE(file);
  ContractDescriptor descriptor = parse_contract_json(
      std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()));
  descriptor.platform = empty(Cpu::x64).platform;
  return descriptor;
}

// Every field of `expected` that `actual` has too must be at the same place; returns how many there are.
std::size_t check_same(const ContractDescriptor& actual, const ContractDescriptor& expected) {
  std::size_t fields = 0;
  for (const auto& [name, type] : expected.types) {
    const auto found = actual.types.find(name);
    if (found == actual.types.end()) continue;
    INFO(name);
    CHECK(found->second.size == type.size);
    for (const auto& [field, descriptor] : type.fields) {
      INFO(field);
      const auto entry = found->second.fields.find(field);
      if (entry == found->second.fields.end()) continue;
      CHECK(entry->second.offset == descriptor.offset);
      ++fields;
    }
  }
  return fields;
}

} // namespace

TEST_CASE("a .NET 10 host without a descriptor gets the layouts of its CPU and its roots") {
  for (const std::size_t slots : {128u, 129u}) {
    const ContractDescriptor x64 = completed(slots, empty(Cpu::x64));
    CHECK(x64.platform == empty(Cpu::x64).platform);
    CHECK(x64.contracts.at("ExecutionManager") == "2");
    CHECK(root(x64, "ExecutionManagerCodeRangeMapAddress") == 0x5000u);
    CHECK(root(x64, "ThreadStore") == 0x5000u + 15);
    CHECK(root(x64, "AppDomain") == 0x5000u + 20);
    CHECK(root(x64, "PlatformMetadata") == 0x5000u + slots - 39);
    CHECK(x64.types.at("RangeSection").fields.at("NextForDelete").offset == 64);
    CHECK(x64.types.at("RuntimeFunction").fields.contains("EndAddress"));
    CHECK(x64.types.at("Thread").fields.at("ThreadLocalDataPtr").offset == 568);
    CHECK(x64.types.at("ThreadLocalData").fields.at("NonCollectibleTlsArrayData").offset == 8);
    CHECK(x64.types.at("DynamicStaticsInfo").size == 24u);
    CHECK(x64.types.at("ThreadStaticsInfo").size == 40u);
    CHECK(root(x64, "StaticsPointerMask") == ~std::uint64_t{1});
    CHECK(root(x64, "NumberOfTlsOffsetsNotUsedInNoncollectibleArray") == 2u);
  }
  const ContractDescriptor arm64 = completed(128, empty(Cpu::arm64));
  CHECK(arm64.types.at("RangeSection").fields.at("NextForDelete").offset == 56);
  CHECK_FALSE(arm64.types.at("RuntimeFunction").fields.contains("EndAddress"));
  CHECK(arm64.types.at("RuntimeFunction").size == 8u);
  CHECK(arm64.types.at("SoftwareExceptionFrame").fields.at("TargetContext").offset == 192);
  CHECK(arm64.types.at("HijackArgs").size == 192u);
  CHECK(arm64.types.at("TransitionBlock").size == 176u);
  CHECK(arm64.types.at("TransitionBlock").fields.at("ReturnAddress").offset == 8);
  CHECK(arm64.types.at("Thread").fields.at("LinkNext").offset == 152);
  CHECK(arm64.types.at("Thread").fields.at("OSId").offset == 336);
  CHECK(arm64.types.at("Thread").fields.at("ExceptionTracker").offset == 392);
  CHECK(arm64.types.at("Thread").fields.at("LastThrownObject").offset == 376);
  CHECK(arm64.types.at("Thread").fields.at("ThreadLocalDataPtr").offset == 608);
}

TEST_CASE("the known layouts are those that the runtimes publish") {
  CHECK(check_same(completed(128, empty(Cpu::x64)), real("10.0.9-linux-x64-singlefile.json")) > 230);
  CHECK(check_same(completed(158, empty(Cpu::x64)), real("9.0.1-linux-x64.json")) > 60);
}

TEST_CASE("a .NET 9 library keeps its own word and gets what code lookup needs") {
  const ContractDescriptor own = real("9.0.1-linux-x64.json");
  const ContractDescriptor d = completed(158, own);
  CHECK(d.contracts.at("ExecutionManager") == "1");
  CHECK(d.contracts.at("RuntimeTypeSystem") == "1");
  CHECK(root(d, "ExecutionManagerCodeRangeMapAddress") == 0x5000u);
  CHECK(d.types.at("GenericsDictInfo").fields.at("NumDicts").offset == 4);
  CHECK(d.types.at("Module").fields.at("ReadyToRunInfo").offset == 984);
  CHECK(d.types.at("ReadyToRunInfo").fields.at("EntryPointToMethodDescMap").offset == 432);
  CHECK(d.types.at("RealCodeHeader").fields.at("MethodDesc").offset == 24);
  CHECK(d.types.at("Thread").fields.at("ThreadLocalDataPtr").offset == 928);
  CHECK(d.types.at("ThreadLocalData").fields.at("NonCollectibleTlsArrayData").offset == 8);
  for (const auto& [name, type] : own.types)
    for (const auto& [field, descriptor] : type.fields)
      CHECK(d.types.at(name).fields.at(field).offset == descriptor.offset);
  CHECK(root(d, "ThreadStore") == own.globals.at("ThreadStore").number);
}

TEST_CASE("a .NET 9 single-file host gets all layouts and its own roots") {
  const ContractDescriptor d = completed(158, empty(Cpu::x64));
  CHECK(d.platform == empty(Cpu::x64).platform);
  CHECK(d.contracts.at("ExecutionManager") == "1");
  CHECK(root(d, "ExecutionManagerCodeRangeMapAddress") == 0x5000u);
  CHECK(root(d, "ThreadStore") == 0x5000u + 16);
  CHECK(root(d, "AppDomain") == 0x5000u + 21);
  CHECK(root(d, "StringMethodTable") == 0x5000u + 46);
  CHECK_FALSE(root(d, "PlatformMetadata"));
  CHECK(d.types.at("ThreadStore").fields.at("FirstThreadLink").offset == 160);
}

TEST_CASE("a table that is not filled yet adds nothing") {
  MemoryBuilder memory;
  ContractDescriptor descriptor = empty(Cpu::x64);
  CHECK_FALSE(complete_from_dac_table(memory, {.address = memory.allocate(1024), .size = 1024}, descriptor));
  CHECK(descriptor.types.empty());
  CHECK(descriptor.globals.empty());
}

TEST_CASE("a slot of zero is a root that this build does not have") {
  MemoryBuilder memory;
  const DacTable table = place_table(memory, 128);
  memory.at(table.address + 15 * 8).u64(0);
  ContractDescriptor descriptor = empty(Cpu::x64);
  REQUIRE(complete_from_dac_table(memory, table, descriptor));
  CHECK_FALSE(root(descriptor, "ThreadStore"));
  memory.at(table.address).u64(0);
  const auto headless = fault_of([&] { complete_from_dac_table(memory, table, descriptor); });
  REQUIRE(headless);
  CHECK(headless->kind() == ErrorKind::corrupt);
}

TEST_CASE("what is not known is refused by name") {
  const auto refused = [](std::size_t slots, ContractDescriptor descriptor) {
    const auto error = fault(slots, std::move(descriptor));
    REQUIRE(error);
    CHECK(error->kind() == ErrorKind::unsupported_contract);
    return std::string(error->what());
  };
  CHECK(refused(155, empty(Cpu::x64)).find("155 entries") != std::string::npos); // .NET 8
  CHECK(refused(127, empty(Cpu::x64)).find("127 entries") != std::string::npos);
  refused(158, empty(Cpu::arm64));
  CHECK(refused(128, empty(Cpu::riscv64)).find("riscv64") != std::string::npos);
  refused(128, empty(Cpu::unknown));
  refused(128, empty(Cpu::arm, 4));
  refused(128, empty(Cpu::x86, 4));
}

TEST_CASE("an implausible or missing table is a fault") {
  MemoryBuilder memory;
  ContractDescriptor descriptor = empty(Cpu::x64);
  const DacTable table = place_table(memory, 128);
  for (const std::uint64_t size : {std::uint64_t{65544}, std::uint64_t{1021}, ~std::uint64_t{7}}) {
    const auto error = fault_of(
        [&] { complete_from_dac_table(memory, {.address = table.address, .size = size}, descriptor); });
    REQUIRE(error);
    CHECK(error->kind() == ErrorKind::corrupt);
  }
  memory.erase(table.address + 500, 1);
  const auto error = fault_of([&] { complete_from_dac_table(memory, table, descriptor); });
  REQUIRE(error);
  CHECK(error->kind() == ErrorKind::memory_missing);
  CHECK(error->address() == table.address + 500);
}
