// Which versions of contracts are read, and what is withheld when one is not.
#include "core/target/contract_members.h"
#include "tests/support/faults.h"
#include "tests/support/target_builder.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

ContractUse use_of(const std::string& contract, const std::string& version, unsigned format) {
  ContractDescriptor descriptor;
  descriptor.version = format;
  descriptor.contracts[contract] = version;
  return contract_use(descriptor, contract);
}

// One type of each contract, or one global.
constexpr std::pair<const char*, const char*> types_of[] = {{"CodeVersions", "NativeCodeVersionNode"},
                                                            {"DebugInfo", "PatchpointInfo"},
                                                            {"EcmaMetadata", "DynamicMetadata"},
                                                            {"Exception", "ExceptionInfo"},
                                                            {"ExecutionManager", "RangeSection"},
                                                            {"GC", "GCHeap"},
                                                            {"Loader", "Module"},
                                                            {"Object", "String"},
                                                            {"PlatformMetadata", "PlatformMetadata"},
                                                            {"PrecodeStubs", "StubPrecodeData"},
                                                            {"RuntimeTypeSystem", "MethodTable"},
                                                            {"Signature", "Signature"},
                                                            {"StackWalk", "InlinedCallFrame"},
                                                            {"SyncBlock", "SyncTableEntry"},
                                                            {"Thread", "ThreadStore"}};

} // namespace

TEST_CASE("a version is a name, and its meaning depends on the format of the descriptor") {
  using namespace contract_form;
  CHECK(use_of("PrecodeStubs", "1", 0).form == precodes_by_type);
  CHECK(use_of("PrecodeStubs", "3", 0).form == precodes_by_bytes);
  CHECK(use_of("PrecodeStubs", "c1", 2).form == precodes_by_bytes);
  CHECK(use_of("ExecutionManager", "1", 0).form == linear_nibble_map);
  CHECK(use_of("ExecutionManager", "2", 0).form == constant_time_nibble_map);
  CHECK(use_of("ExecutionManager", "c1", 2).form == constant_time_nibble_map);
  for (const char* changed : {"StackWalk", "Exception", "RuntimeTypeSystem", "DebugInfo"}) {
    CHECK(use_of(changed, "1", 0).form == first);
    CHECK(use_of(changed, "c1", 2).form == net11);
  }
  for (const auto& [contract, type] : types_of) {
    INFO(contract);
    CHECK(is_contract_read(contract));
    CHECK(use_of(contract, "c1", 2).form);
    CHECK(use_of(contract, "c1", 2).fault.empty());
    for (const char* version : {"c2", "n1", "C1", "", "1", "2", "c1 ", "c01", "c10"}) {
      const ContractUse use = use_of(contract, version, 2);
      CHECK_FALSE(use.form);
      CHECK(use.fault == std::string("contract ") + contract + " has version \"" + version +
                             "\", which this version of lldb-clr does not know");
    }
    CHECK_FALSE(use_of(contract, "c1", 0).form);
    CHECK_FALSE(use_of(contract, "4", 0).form);
  }
  CHECK_FALSE(is_contract_read("StressLog"));
}

TEST_CASE("a contract that is not listed is a fault from .NET 11 on") {
  ContractDescriptor descriptor;
  CHECK(contract_use(descriptor, "Thread").fault.empty());
  CHECK_FALSE(contract_use(descriptor, "Thread").form);
  descriptor.version = descriptor_format_names;
  CHECK(contract_use(descriptor, "Thread").fault ==
        "the runtime's descriptor does not list the contract Thread");
}

TEST_CASE("a contract that cannot be read costs what it describes, and nothing else") {
  for (const auto& [broken, broken_type] : types_of)
    for (const bool missing : {false, true}) {
      INFO(broken << (missing ? " missing" : " unknown"));
      TargetBuilder t({.cpu = Cpu::x64, .os = Os::unix_like});
      t.descriptor().version = descriptor_format_names;
      for (const auto& [contract, type] : types_of) {
        t.contract(contract, "c1").type(type, {{"F"}});
        CHECK(contract_of_type(type) == contract);
      }
      t.global("ThreadStore", 1).global("MethodDescAlignment", 8).global("HijackFrameIdentifier", 8);
      if (missing)
        t.descriptor().contracts.erase(broken);
      else
        t.contract(broken, "c9");
      const Target target = t.target();
      for (const auto& [contract, type] : types_of) {
        INFO(type);
        const bool whole = contract != broken;
        CHECK(target.find_offset(type, "F").has_value() == whole);
        CHECK(target.find_size(type).has_value() == whole);
        CHECK(target.has_type(type) == whole);
        const auto fault = fault_of([&] { target.require_contract(contract); });
        CHECK(fault.has_value() != whole);
        if (whole) continue;
        for (const auto& other :
             {fault_of([&] { target.offset(type, "F"); }), fault_of([&] { target.size_of(type); })}) {
          REQUIRE(other);
          CHECK(other->kind() == ErrorKind::unsupported_contract);
          CHECK(std::string(other->what()) == fault->what());
        }
      }
      const auto has = [&](const char* global) { return target.find_global(global).has_value(); };
      CHECK(has("ThreadStore") == (std::string_view(broken) != "Thread"));
      CHECK(has("MethodDescAlignment") == (std::string_view(broken) != "RuntimeTypeSystem"));
      CHECK(has("HijackFrameIdentifier") == (std::string_view(broken) != "StackWalk"));
      if (std::string_view(broken) == "Thread")
        CHECK(std::string(fault_of([&] { target.global("ThreadStore"); })->what()).find("contract Thread") !=
              std::string::npos);
    }
}

TEST_CASE("contracts are listed by version") {
  ContractDescriptor descriptor;
  descriptor.contracts = {{"Thread", "n1"}, {"ReJIT", "n1"}, {"Exception", "c1"}, {"Other", "n2"}};
  CHECK(contracts_beginning_with(descriptor, 'n') == "contracts n1: ReJIT, Thread; contracts n2: Other");
  CHECK(contracts_beginning_with(descriptor, 'x').empty());
}
