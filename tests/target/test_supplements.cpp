// The table of layouts that descriptors do not publish.
#include "core/target/supplements.h"
#include "tests/support/faults.h"
#include "tests/support/target_builder.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <fstream>
#include <set>

using namespace clr;
using namespace clr::test;

namespace {

Platform unix_64(Cpu cpu) {
  return {.pointer_size = 8, .byte_order = ByteOrder::little, .cpu = cpu, .os = Os::unix_like};
}

bool lists(const Target& target, std::string_view type, std::string_view field) {
  return std::ranges::any_of(supplements_in_use(target), [&](const Supplement& supplement) {
    return supplement.type == type && supplement.field == field;
  });
}

} // namespace

TEST_CASE("a supplement stands in only where the descriptor is silent") {
  TargetBuilder t(unix_64(Cpu::x64));
  t.type("RealCodeHeader", {{"GCInfo", Width::pointer, 0, 16}}, 0);
  const Target silent = t.target();
  CHECK(silent.offset("RealCodeHeader", "DebugInfo") == 0);
  CHECK(silent.offset("RealCodeHeader", "EHInfo") == 8);
  CHECK(silent.offset("RealCodeHeader", "GCInfo") == 16);
  CHECK(silent.is_supplemented("RealCodeHeader", "EHInfo"));
  CHECK_FALSE(silent.is_supplemented("RealCodeHeader", "GCInfo"));
  CHECK_FALSE(silent.is_supplemented("RealCodeHeader", "Absent"));
  CHECK(lists(silent, "RealCodeHeader", "EHInfo"));

  t.type("RealCodeHeader", {{"EHInfo", Width::pointer, 0, 40}}, 0);
  const Target speaks = t.target();
  CHECK(speaks.offset("RealCodeHeader", "EHInfo") == 40);
  CHECK_FALSE(speaks.is_supplemented("RealCodeHeader", "EHInfo"));
  CHECK_FALSE(lists(speaks, "RealCodeHeader", "EHInfo"));
  CHECK(lists(speaks, "RealCodeHeader", "DebugInfo"));
}

TEST_CASE("rows depend on the CPU, and none is for other word sizes or systems") {
  TargetBuilder x64(unix_64(Cpu::x64)), arm64(unix_64(Cpu::arm64));
  CHECK(x64.target().find_offset("Thread", "CachedStackBase") == 120);
  CHECK_FALSE(arm64.target().find_offset("CalleeSavedRegisters", "Rbx"));
  CHECK(arm64.target().find_offset("CalleeSavedRegisters", "X19") == 16);
  CHECK_FALSE(x64.target().find_offset("CalleeSavedRegisters", "X19"));
  for (const Platform& platform : all_platforms()) {
    if (platform.pointer_size == 8) continue;
    TargetBuilder t(platform);
    CHECK(supplements_in_use(t.target()).empty());
    CHECK_FALSE(t.target().find_offset("RealCodeHeader", "DebugInfo"));
  }
  TargetBuilder windows({.cpu = Cpu::x64, .os = Os::windows});
  CHECK(supplements_in_use(windows.target()).empty());
}

TEST_CASE("every row names its source, and none stands twice for a target") {
  for (const Cpu cpu : {Cpu::x64, Cpu::arm64}) {
    TargetBuilder t(unix_64(cpu));
    std::set<std::pair<std::string_view, std::string_view>> seen;
    for (const Supplement& row : supplements_in_use(t.target())) {
      INFO(row.type << "." << row.field);
      CHECK(row.source.find("src/") != std::string_view::npos);
      CHECK(seen.emplace(row.type, row.field).second);
      CHECK(t.target().find_offset(row.type, row.field) == row.value);
    }
    CHECK(seen.size() > 20);
  }
}

TEST_CASE("no row repeats what the real descriptor of .NET 10 says") {
  std::ifstream file(std::string(CLR_TEST_DATA) + "/target/data/10.0.9-linux-x64-singlefile.json");
  REQUIRE(file);
  ContractDescriptor d = parse_contract_json(
      std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()));
  CHECK(d.types.size() == 101);
  CHECK(d.globals.size() == 67);
  CHECK(d.contracts.at("ExecutionManager") == "2");
  CHECK(d.globals.at("OperatingSystem").text == "1");
  MemoryBuilder memory;
  d.platform = unix_64(Cpu::x64);
  const Target target(memory, d, {});
  TargetBuilder nothing(unix_64(Cpu::x64));
  CHECK(supplements_in_use(target).size() == supplements_in_use(nothing.target()).size());
  CHECK(target.find_contract_form("PrecodeStubs") == contract_form::precodes_by_bytes);
  CHECK(target.global("StubCodeBlockLast") == 0xF);
}

TEST_CASE("a runtime in the format of .NET 11 gets no supplement") {
  TargetBuilder t(unix_64(Cpu::x64));
  t.type("RealCodeHeader", {{"GCInfo", Width::pointer, 0, 16}}, 0);
  t.descriptor().version = descriptor_format_names;
  const Target target = t.target();
  CHECK(supplements_in_use(target).empty());
  CHECK_FALSE(target.find_offset("LoaderAllocator", "CallCountingManager"));
  CHECK_FALSE(target.find_offset("FramedMethodFrame", "MethodDesc"));
  CHECK_FALSE(target.find_size("FieldDesc"));
  t.descriptor().version = descriptor_format_integers;
  CHECK(supplements_in_use(t.target()).size() > 20);
}

TEST_CASE("no supplement is read by a contract that cannot be read") {
  TargetBuilder t(unix_64(Cpu::x64));
  t.contract("RuntimeTypeSystem", 7);
  const Target target = t.target();
  CHECK_FALSE(target.find_offset("FieldDesc", "DWord1"));
  CHECK(target.find_offset("InlinedCallFrame", "Datum") == 16);
  CHECK(std::string(fault_of([&] { target.offset("FieldDesc", "DWord1"); })->what()) ==
        "contract RuntimeTypeSystem has version \"7\", which this version of lldb-clr does not know");
}
