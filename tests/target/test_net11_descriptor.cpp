// What the first release of .NET 11 publishes, as its library for linux-x64 holds it, beside what was read in
// the sources when the contracts were frozen.
#include "core/target/contract_descriptor.h"
#include "core/target/contract_members.h"
#include "core/target/contracts.h"
#include "core/target/supplements.h"
#include "tests/support/memory_builder.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <fstream>
#include <set>

using namespace clr;
using namespace clr::test;

namespace {

std::string text_of(const std::string& name) {
  std::ifstream file(std::string(CLR_TEST_DATA) + "/target/data/" + name);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

} // namespace

TEST_CASE("net11: every contract of 11.0.0 that is read has a version that is known") {
  const ContractDescriptor d = parse_contract_json(text_of("11.0.0-linux-x64.json"));
  CHECK(d.version == descriptor_format_names);
  CHECK_NOTHROW(check_descriptor_format(d));
  CHECK_FALSE(describes_native_aot(d));
  std::size_t read = 0;
  for (const auto& [contract, version] : d.contracts) {
    INFO(contract);
    if (!is_contract_read(contract)) continue;
    ++read;
    CHECK(contract_use(d, contract).fault.empty());
  }
  CHECK(read == 17);
  CHECK(contract_use(d, "Thread").form == contract_form::net11);
  ContractDescriptor whole = d;
  withhold_unreadable(whole);
  CHECK(whole.types.size() == d.types.size());
  CHECK(whole.globals.size() == d.globals.size());
  MemoryBuilder memory;
  ContractDescriptor placed = d;
  placed.platform = {.pointer_size = 8, .cpu = Cpu::x64, .os = Os::unix_like};
  const Target target(memory, placed, {});
  CHECK(supplements_in_use(target).empty());
}

TEST_CASE("net11: 11.0.0 publishes what its sources said, but for one field and four types") {
  const ContractDescriptor d = parse_contract_json(text_of("11.0.0-linux-x64.json"));
  const nlohmann::json frozen = nlohmann::json::parse(text_of("net11-frozen.json"));
  std::set<std::string> missing;
  for (const auto& [name, type] : frozen["types"].items()) {
    const auto found = d.types.find(name);
    if (found == d.types.end()) {
      missing.insert(name);
      continue;
    }
    for (const auto& [field, kind] : type["fields"].items())
      if (!found->second.fields.contains(field)) missing.insert(name + "." + field);
    CHECK(type["fields"].size() >= found->second.fields.size());
  }
  for (const auto& [name, kind] : frozen["globals"].items())
    if (!d.globals.contains(name)) missing.insert(name);
  CHECK(missing == std::set<std::string>{"EEClass.VMFlags", "EEClassLayoutInfo", "LayoutEEClass",
                                         "ProtectValueClassFrame", "ValueClassInfo"});
  CHECK(d.types.size() == 166);
  CHECK(d.globals.size() == frozen["globals"].size());
  CHECK(d.contracts.size() == frozen["contracts"].size());
}
