// Which module of a process holds a runtime, and the handling of modules that hold none, an incomplete one,
// or another kind.
#include "core/target/descriptor_locator.h"

#include "core/memory/recording_reader.h"
#include "tests/support/elf_module_builder.h"
#include "tests/support/faults.h"
#include "tests/support/target_builder.h"

#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

using namespace clr;
using namespace clr::test;

namespace {

constexpr Address library_base = 0x4000'0000, app_base = 0x2000'0000;

struct Process {
  explicit Process(const Platform& platform) : t(platform) {}

  // Maps an ELF module that exports `symbols`, given by their addresses.
  LoadedModule& map(const std::string& path, Address base,
                    const std::vector<std::pair<std::string, Address>>& symbols) {
    ElfModuleBuilder elf{.platform = t.platform()};
    for (const auto& [name, address] : symbols) elf.symbols.emplace_back(name, address - base);
    t.memory().write(base, elf.loaded(base, true));
    return modules.emplace_back(LoadedModule{.path = path, .base = base});
  }

  // A descriptor of .NET 10's kind whose application domain variable holds `domain`.
  Address descriptor(Address domain = 0x1234'5670) {
    t.contract("ExecutionManager", 2).type("T", {{"F"}}).global("Architecture", "x64");
    t.variable("AppDomain", domain);
    return t.write_descriptor();
  }

  RuntimeSearch search() { return locate_runtimes(t.memory(), modules, Cpu::x64); }

  TargetBuilder t;
  std::vector<LoadedModule> modules;
};

// 64-bit, of a CPU whose layouts are known.
Platform known_platform(Cpu cpu = Cpu::x64) {
  return {.pointer_size = 8, .byte_order = ByteOrder::little, .cpu = cpu, .os = Os::unix_like};
}

} // namespace

TEST_CASE("a runtime is found by its symbol in target memory") {
  for (const Platform& platform : all_platforms())
    for (const char* path : {"/usr/share/dotnet/libcoreclr.so", "/app/single-file"}) {
      INFO(to_string(platform) << " " << path);
      Process process(platform);
      process.map("/lib/libc.so.6", app_base, {{"malloc", app_base + 0x2000}});
      process.map(path, library_base, {{"DotNetRuntimeContractDescriptor", process.descriptor()}});
      process.modules.push_back({.path = "/not/mapped", .base = 0x7000'0000});
      const RuntimeSearch found = process.search();
      CHECK(found.problems.empty());
      REQUIRE(found.runtimes.size() == 1);
      const LocatedRuntime& runtime = found.runtimes[0];
      CHECK(runtime.kind == RuntimeKind::coreclr);
      CHECK(runtime.module.path == path);
      CHECK(runtime.source == DescriptorSource::memory_symbols);
      CHECK(runtime.started);
      CHECK(runtime.descriptor.contracts.at("ExecutionManager") == "2");
      CHECK(runtime.descriptor.platform ==
            Platform{platform.pointer_size, platform.byte_order, Cpu::x64, Os::unix_like});
    }
}

TEST_CASE("an address that the debugger knows needs no symbols in memory") {
  Process process(known_platform());
  const Address descriptor = process.descriptor();
  process.modules.push_back(
      {.path = "/app/anything", .base = 0x7000'0000, .contract_descriptor = descriptor});
  const RuntimeSearch found = process.search();
  REQUIRE(found.runtimes.size() == 1);
  CHECK(found.runtimes[0].source == DescriptorSource::module_symbols);
  CHECK(found.runtimes[0].descriptor.address == descriptor);
}

TEST_CASE("an address from another build's file gives way to the module's own symbol, and is reported") {
  Process process(known_platform());
  const Address descriptor = process.descriptor();
  process.map("/x/libcoreclr.so", library_base, {{"DotNetRuntimeContractDescriptor", descriptor}})
      .contract_descriptor = descriptor + 8;
  const RuntimeSearch found = process.search();
  REQUIRE(found.runtimes.size() == 1);
  CHECK(found.runtimes[0].source == DescriptorSource::memory_symbols);
  CHECK(found.runtimes[0].descriptor.address == descriptor);
  REQUIRE(found.problems.size() == 1);
  CHECK(found.problems[0].starts_with("libcoreclr.so: "));
}

TEST_CASE("modules named like the runtime come first, and several runtimes are all found") {
  Process process(known_platform());
  const Address first = process.descriptor(), second = process.t.write_descriptor();
  process.map("/app/app", app_base, {{"DotNetRuntimeContractDescriptor", first}});
  process.map("/one/libcoreclr.so", library_base, {{"DotNetRuntimeContractDescriptor", second}});
  process.map("/two/libcoreclr.so", library_base + 0x100'0000, {{"DotNetRuntimeContractDescriptor", first}});
  const RuntimeSearch found = process.search();
  REQUIRE(found.runtimes.size() == 2);
  CHECK(found.runtimes[0].descriptor.address == second);
  CHECK(found.runtimes[1].module.path == "/two/libcoreclr.so");
}

TEST_CASE("NativeAOT and Mono are recognised and come after CoreCLR") {
  {
    Process process(known_platform());
    process.map("/app/aot", app_base, {{"DotNetRuntimeDebugHeader", app_base + 0x4000}});
    const RuntimeSearch found = process.search();
    REQUIRE(found.runtimes.size() == 1);
    CHECK(found.runtimes[0].kind == RuntimeKind::native_aot);
    CHECK(to_string(found.runtimes[0].kind) == "NativeAOT");
  }
  {
    // Newer ones export a descriptor too, without the code manager.
    Process process(known_platform());
    process.t.contract("Thread", 1);
    process.map("/app/aot", app_base, {{"DotNetRuntimeContractDescriptor", process.t.write_descriptor()}});
    const RuntimeSearch found = process.search();
    REQUIRE(found.runtimes.size() == 1);
    CHECK(found.runtimes[0].kind == RuntimeKind::native_aot);
  }
  {
    Process process(known_platform());
    process.modules.push_back({.path = "/app/libmonosgen-2.0.so", .base = 0x7000'0000});
    process.map("/app/app", app_base, {{"DotNetRuntimeContractDescriptor", process.descriptor()}});
    const RuntimeSearch found = process.search();
    REQUIRE(found.runtimes.size() == 2);
    CHECK(found.runtimes[0].kind == RuntimeKind::coreclr);
    CHECK(found.runtimes[1].kind == RuntimeKind::mono);
  }
}

TEST_CASE("a NativeAOT program is told by its flavor, by a contract, or by its other symbol") {
  enum class Told { flavor, contract, execution_manager, symbol };
  for (const Told told : {Told::flavor, Told::contract, Told::execution_manager, Told::symbol}) {
    Process process(known_platform());
    TargetBuilder& t = process.t;
    t.descriptor().version = descriptor_format_names;
    t.contract("RuntimeInfo", "c1").type("MethodTable", {{"RelatedType"}});
    if (told == Told::flavor) t.global("RuntimeFlavor", "NativeAot");
    if (told == Told::contract) t.contract("Thread", "n1");
    if (told == Told::execution_manager) t.contract("ExecutionManager", "n1");
    if (told == Told::symbol)
      process.map("/app/aot", app_base, {{"DotNetRuntimeDebugHeader", app_base + 0x4000}});
    else
      process.map("/app/aot", app_base, {{"DotNetRuntimeContractDescriptor", t.write_descriptor()}});
    const RuntimeSearch found = process.search();
    REQUIRE(found.runtimes.size() == 1);
    CHECK(found.runtimes[0].kind == RuntimeKind::native_aot);
    CHECK(found.problems.empty());
  }
}

TEST_CASE("a library that was compiled ahead of time hides no CoreCLR beside it") {
  Process process(known_platform());
  TargetBuilder aot(known_platform());
  process.t.contract("Thread", "n1");
  process.map("/app/libaot.so", library_base,
              {{"DotNetRuntimeContractDescriptor", process.t.write_descriptor()}});
  process.modules.back().contract_descriptor = process.t.write_descriptor();
  process.t.descriptor() = {};
  process.map("/app/single-file", app_base, {{"DotNetRuntimeContractDescriptor", process.descriptor()}});
  const RuntimeSearch found = process.search();
  REQUIRE(found.runtimes.size() == 2);
  CHECK(found.runtimes[0].kind == RuntimeKind::coreclr);
  CHECK(found.runtimes[0].module.path == "/app/single-file");
  CHECK(found.runtimes[1].kind == RuntimeKind::native_aot);
}

TEST_CASE("descriptors in the format of .NET 11, of its previews, and of what comes later") {
  const auto search = [](const std::string& version, const std::string& contract) {
    Process process(known_platform());
    process.t.contract("ExecutionManager", contract).type("T", {{"F"}}).variable("AppDomain", 1);
    std::string json = process.t.json();
    const std::string own = "\"version\":0";
    const std::size_t at = json.find(own);
    REQUIRE(at != std::string::npos);
    json.replace(at, own.size(), version.empty() ? "\"none\":0" : "\"version\":" + version);
    process.map("/x/libcoreclr.so", library_base,
                {{"DotNetRuntimeContractDescriptor", process.t.write_descriptor(json, process.t.slots())}});
    return process.search();
  };
  for (const auto& [version, contract] : {std::pair{"0", "2"}, {"", "2"}, {"2", "c1"}, {"\"2\"", "c1"}}) {
    INFO(version);
    const RuntimeSearch found = search(version, contract);
    CHECK(found.runtimes.size() == 1);
    CHECK(found.problems.empty());
  }
  for (const auto& [version, contract, why] : {std::tuple{"0", "c1", "preview of .NET 11"},
                                               {"1", "c1", "preview of .NET 11"},
                                               {"1", "2", "preview of .NET 11"},
                                               {"3", "c1", "data descriptor has version 3"},
                                               {"4294967295", "c1", "version 4294967295"}}) {
    INFO(version);
    const RuntimeSearch found = search(version, contract);
    CHECK(found.runtimes.empty());
    REQUIRE(found.problems.size() == 1);
    CHECK(found.problems[0].find(why) != std::string::npos);
  }
}

TEST_CASE("what is wrong with the collector's descriptor costs nothing else") {
  for (const char* json : std::initializer_list<const char*>{R"({"version":)", R"({"version":1})",
                                                             R"({"version":2,"types":{"T":{}}})", nullptr}) {
    Process process(known_platform());
    process.t.descriptor().version = descriptor_format_names;
    process.t.contract("ExecutionManager", "c1").type("T", {{"F"}}).variable("AppDomain", 1);
    const std::string text = process.t.json();
    std::vector<Address> slots = process.t.slots();
    slots.push_back(process.t.memory().allocate(8));
    if (json != nullptr) process.t.memory().at(slots.back()).pointer(process.t.write_descriptor(json, {0}));
    const std::string with = text.substr(0, text.size() - 1) + ",\"subDescriptors\":{\"GC\":[[" +
                             std::to_string(slots.size() - 1) + "],\"pointer\"]}}";
    process.map("/x/libcoreclr.so", library_base,
                {{"DotNetRuntimeContractDescriptor", process.t.write_descriptor(with, slots)}});
    const RuntimeSearch found = process.search();
    REQUIRE(found.runtimes.size() == 1);
    CHECK(found.runtimes[0].kind == RuntimeKind::coreclr);
    REQUIRE(found.problems.size() == (json == nullptr ? 0 : 1));
    if (json != nullptr) CHECK(found.problems[0].find("the descriptor GC") != std::string::npos);
  }
}

TEST_CASE("a descriptor file stands in for the runtime of its build only") {
  Process process(known_platform());
  const Address own = process.descriptor();
  process.map("/x/libcoreclr.so", library_base, {{"DotNetRuntimeContractDescriptor", own}});
  process.modules.back().build_id = {1, 2, 0xab};
  const Address variable = library_base + 0x100;
  process.t.memory().at(variable).pointer(1);
  const std::string text = R"({"build_id": "0102ab", "pointer_size": 8, "byte_order": "little",
    "descriptor": {"version": 2, "contracts": {"ExecutionManager": "c1"}, "types": {"FromFile": {"F": 8}},
                   "globals": {"AppDomain": [[1], "pointer"], "Null": [[0], "pointer"]}},
    "pointers": [null, "0x100"]})";
  const DescriptorFile file = parse_descriptor_file(text, "d.json");
  const RuntimeSearch found = locate_runtimes(process.t.memory(), process.modules, Cpu::x64, &file);
  REQUIRE(found.runtimes.size() == 1);
  CHECK(found.runtimes[0].source == DescriptorSource::file);
  CHECK(found.runtimes[0].started);
  CHECK(found.runtimes[0].descriptor.types.contains("FromFile"));
  CHECK(found.runtimes[0].descriptor.globals.at("AppDomain").number == variable);
  CHECK(found.runtimes[0].descriptor.globals.at("Null").number == 0u);
  CHECK(found.problems.empty());

  process.modules.back().build_id.back() = 0xac;
  const RuntimeSearch other = locate_runtimes(process.t.memory(), process.modules, Cpu::x64, &file);
  REQUIRE(other.runtimes.size() == 1);
  CHECK(other.runtimes[0].source == DescriptorSource::memory_symbols);
  REQUIRE(other.problems.size() == 1);
  CHECK(other.problems[0].find("d.json is not used: it is of another build") != std::string::npos);

  // What is recorded is what was written, and reads the same.
  const DescriptorFile recorded = record_descriptor(process.t.memory(), process.modules.back(), own);
  const DescriptorFile again = parse_descriptor_file(write_descriptor_file(recorded), "again");
  CHECK(again.build_id == process.modules.back().build_id);
  CHECK(again.pointers == recorded.pointers);
  CHECK(place_descriptor(process.t.memory(), again, library_base).types.contains("T"));
}

TEST_CASE("a file that is no descriptor file says why") {
  const std::string head = R"({"build_id": "ab", "pointer_size": 8, "byte_order": "little", )";
  for (const auto& [text, why] :
       {std::pair<std::string, const char*>{"", "no JSON object"},
        {"[]", "no JSON object"},
        {"{}", "\"build_id\""},
        {R"({"build_id": "abc"})", "even number"},
        {R"({"build_id": "xy"})", "no hexadecimal number"},
        {R"({"build_id": "ab", "pointer_size": 5})", "neither 4 nor 8"},
        {R"({"build_id": "ab", "pointer_size": 8, "byte_order": "middle"})", "neither little nor big"},
        {head + R"("descriptor": 1})", "neither an object nor a text"},
        {head + R"("descriptor": {}, "pointers": {}})", "no list"},
        {head + R"("descriptor": {}, "pointers": [1]})", "neither null"},
        {head + R"("descriptor": {}, "pointers": ["0xg"]})", "no hexadecimal number"},
        {std::string(1 << 20, '['), "nested more than 64 deep"}}) {
    INFO(text.substr(0, 200));
    const auto fault = fault_of([&] { parse_descriptor_file(text, "d.json"); });
    REQUIRE(fault);
    CHECK(fault->kind() == ErrorKind::corrupt);
    CHECK(std::string(fault->what()).find(why) != std::string::npos);
  }
}

TEST_CASE("a process without a runtime") {
  Process process(known_platform());
  CHECK(process.search().runtimes.empty());
  process.map("/bin/cat", app_base, {{"main", app_base + 0x2000}});
  process.t.memory().at(0x6000'0000).text("#!/bin/sh");
  process.modules.push_back({.path = "/script", .base = 0x6000'0000});
  const RuntimeSearch found = process.search();
  CHECK(found.runtimes.empty());
  CHECK(found.problems.empty());
}

TEST_CASE("a runtime that is mapped and has not started") {
  for (const Platform& platform : all_platforms()) {
    INFO(to_string(platform));
    Process process(platform);
    process.map("/x/libcoreclr.so", library_base,
                {{"DotNetRuntimeContractDescriptor", process.descriptor(0)}});
    const RuntimeSearch found = process.search();
    REQUIRE(found.runtimes.size() == 1);
    CHECK_FALSE(found.runtimes[0].started);
    CHECK(found.problems.empty());
  }
}

TEST_CASE("a missing application domain variable is reported and taken as started") {
  Process process(known_platform());
  const Address descriptor = process.descriptor();
  process.map("/x/libcoreclr.so", library_base, {{"DotNetRuntimeContractDescriptor", descriptor}});
  const Address variable =
      read_contract_descriptor(process.t.memory(), descriptor).globals.at("AppDomain").number.value();
  process.t.memory().erase(variable, 1);
  const RuntimeSearch found = process.search();
  REQUIRE(found.runtimes.size() == 1);
  CHECK(found.runtimes[0].started);
  CHECK(found.problems.size() == 1);
}

TEST_CASE("a runtime's library that cannot be read is a problem with its name") {
  const auto only_problem = [](Process& process) {
    const RuntimeSearch found = process.search();
    CHECK(found.runtimes.empty());
    REQUIRE(found.problems.size() == 1);
    CHECK(found.problems[0].starts_with("libcoreclr.so: "));
    return found.problems[0];
  };
  {
    Process process(known_platform());
    process.modules.push_back({.path = "/x/libcoreclr.so", .base = library_base});
    CHECK(only_problem(process).find("0x40000000") != std::string::npos);
  }
  {
    Process process(known_platform());
    process.map("/x/libcoreclr.so", library_base, {{"other", library_base}});
    CHECK(only_problem(process).find("DotNetRuntimeContractDescriptor") != std::string::npos);
  }
  {
    Process process(known_platform());
    const Address torn = process.t.write_descriptor("{\"types\":", {0});
    process.map("/x/libcoreclr.so", library_base, {{"DotNetRuntimeContractDescriptor", torn}});
    CHECK(only_problem(process).find("JSON") != std::string::npos);
  }
  {
    Process process(known_platform());
    process.map("/x/libcoreclr.so", library_base, {{"DotNetRuntimeContractDescriptor", 0x7000'0000}});
    only_problem(process);
  }
}

TEST_CASE("a module that exports only g_dacTable") {
  // The builder's symbols have 40 bytes: tables of five entries.
  Process process(known_platform());
  const Address table = process.t.memory().allocate(40);
  process.map("/app/single-file", app_base, {{"g_dacTable", table}});
  RuntimeSearch found = process.search();
  REQUIRE(found.runtimes.size() == 1); // all zero: not filled yet
  CHECK(found.runtimes[0].source == DescriptorSource::dac_table);
  CHECK_FALSE(found.runtimes[0].started);
  process.t.memory().at(table).pointer(0x1000).pointer(0x2000);
  for (const char* path : {"/x/Microsoft.NETCore.App/8.0.0/libcoreclr.so", "/app/single-file"}) {
    process.modules[0].path = path;
    found = process.search();
    CHECK(found.runtimes.empty());
    REQUIRE(found.problems.size() == 1);
    CHECK(found.problems[0].find("g_dacTable of 5 entries") != std::string::npos);
  }
  process.t.memory().at(app_base + 0x4100).utf8("@(#)Version 8.0.23.53103 @Commit: x");
  CHECK(process.search().problems.at(0).starts_with("single-file: version 8.0.0: "));
}

TEST_CASE("a descriptor of .NET 9 is completed by g_dacTable") {
  Process process(known_platform());
  process.t.contract("RuntimeTypeSystem", 1).type("MethodDesc", {{"Flags", Width::u16, 0, 6}}, 0);
  process.t.variable("AppDomain", 1);
  const Address table = process.t.memory().allocate(40);
  process.t.memory().at(table).pointer(0x7700);
  process.map("/x/libcoreclr.so", library_base,
              {{"DotNetRuntimeContractDescriptor", process.t.write_descriptor()}, {"g_dacTable", table}});
  const RuntimeSearch found = process.search();
  CHECK(found.problems.empty());
  REQUIRE(found.runtimes.size() == 1);
  const LocatedRuntime& runtime = found.runtimes[0];
  CHECK(runtime.kind == RuntimeKind::coreclr);
  CHECK(runtime.source == DescriptorSource::dac_table);
  CHECK(runtime.started);
  CHECK(runtime.descriptor.contracts.at("ExecutionManager") == "1");
  CHECK(runtime.descriptor.globals.at("ExecutionManagerCodeRangeMapAddress").number == 0x7700u);
  CHECK(runtime.descriptor.types.at("RangeSection").fields.at("NextForDelete").offset == 64);
  CHECK(runtime.descriptor.types.at("MethodDesc").fields.size() == 1); // its own word stays
}

TEST_CASE("whichever read fails, the runtime is found whole or a problem or nothing is told") {
  for (const Platform& platform : all_platforms()) {
    INFO(to_string(platform));
    Process process(platform);
    process.map("/x/libcoreclr.so", library_base,
                {{"DotNetRuntimeContractDescriptor", process.descriptor()}});
    for (const bool stays_failed : {false, true}) {
      const std::uint64_t reads = for_each_failing_read(
          process.t.memory(),
          [&](MemoryReader& memory, std::uint64_t k) {
            INFO("read " << k);
            const RuntimeSearch found = locate_runtimes(memory, process.modules, Cpu::x64);
            if (found.runtimes.empty()) {
              CHECK(k != 0);
              CHECK_FALSE(found.problems.empty());
              return;
            }
            CHECK(found.runtimes[0].kind == RuntimeKind::coreclr);
            CHECK(found.runtimes[0].descriptor.contracts.contains("ExecutionManager"));
            CHECK(found.runtimes[0].started);
          },
          stays_failed);
      CHECK(reads <= 16);
    }
  }
}

TEST_CASE("of many modules named like the runtime few are kept, and the rest is counted") {
  Process process(known_platform());
  process.map("/x/libcoreclr.so", library_base, {{"DotNetRuntimeContractDescriptor", process.descriptor()}});
  const LoadedModule module = process.modules.front();
  process.modules.assign(5000, module);
  const RuntimeSearch found = process.search();
  CHECK(found.runtimes.size() == RuntimeSearch::max_runtimes);
  CHECK(found.problems ==
        std::vector<std::string>{"4992 more modules are not searched for a runtime: enough were found"});
}

TEST_CASE("many runtimes of other kinds hide no CoreCLR") {
  Process process(known_platform());
  for (unsigned i = 0; i < 20; ++i)
    process.modules.push_back({.path = "/app/libmonosgen-2.0.so", .base = 0x7000'0000});
  process.map("/app/app", app_base, {{"DotNetRuntimeContractDescriptor", process.descriptor()}});
  const RuntimeSearch found = process.search();
  REQUIRE(found.runtimes.size() == RuntimeSearch::max_runtimes);
  CHECK(found.runtimes[0].kind == RuntimeKind::coreclr);
  CHECK(found.runtimes[1].kind == RuntimeKind::mono);
  CHECK(found.problems == std::vector<std::string>{"13 more runtimes are left out"});
}

TEST_CASE("many runtimes that cannot be read are counted, with few versions and little text") {
  Process process(known_platform());
  process.map("/x/libcoreclr.so", library_base, {{"DotNetRuntimeContractDescriptor", process.descriptor()}});
  const std::string torn = fmt::format(R"({{"globals":{{"{}":[]}}}})", std::string(5000, 'n'));
  process.map("/y/libcoreclr.so", library_base + 0x100'0000,
              {{"DotNetRuntimeContractDescriptor", process.t.write_descriptor(torn, {0})}});
  const LoadedModule readable = process.modules.front(), other = process.modules.back();
  process.modules.assign(200, other);
  process.modules.push_back(readable);
  const RuntimeSearch found = process.search();
  CHECK(found.runtimes.size() == 1);
  REQUIRE(found.problems.size() == RuntimeSearch::max_problems + 1);
  CHECK(found.problems.back() ==
        fmt::format("{} more modules or parts of them cannot be read", 200 - RuntimeSearch::max_problems));
  for (const std::string& problem : found.problems)
    CHECK(problem.size() <= ContractDescriptor::max_problem_bytes + 20);
}

TEST_CASE("the version in the image is looked for in few modules") {
  Process process(known_platform());
  const Address table = process.t.memory().allocate(40);
  process.map("/app/single-file", app_base, {{"g_dacTable", table}});
  process.t.memory().at(table).pointer(0x1000).pointer(0x2000);
  process.t.memory().at(app_base + 0x4100).utf8("@(#)Version 8.0.23.53103 @Commit: x");
  const LoadedModule module = process.modules.front();
  process.modules.assign(RuntimeSearch::max_versions + 2, module);
  const RuntimeSearch found = process.search();
  REQUIRE(found.problems.size() == RuntimeSearch::max_versions + 2);
  CHECK(std::ranges::count_if(found.problems, [](const std::string& problem) {
          return problem.find("version 8.0.0") != std::string::npos;
        }) == RuntimeSearch::max_versions);
}

namespace {

// One image, and nothing else.
class ImageMemory final : public MemoryReader {
public:
  ImageMemory(Address base, std::vector<std::byte> image) : base_(base), image_(std::move(image)) {}
  std::size_t read_some(Address address, std::span<std::byte> out) override {
    if (address - base_ >= image_.size()) return 0;
    const std::size_t at = address - base_, size = std::min(out.size(), image_.size() - at);
    std::memcpy(out.data(), image_.data() + at, size);
    return size;
  }

private:
  Address base_;
  std::vector<std::byte> image_;
};

} // namespace

TEST_CASE("a search through many modules with large tables ends, and says so") {
  std::vector<std::byte> image = ElfModuleBuilder{.platform = known_platform()}.loaded(app_base, true);
  // The dynamic section, the fourth of the program headers, claims 64 KiB.
  constexpr std::size_t sizes = 64 + 3 * 56 + 32;
  constexpr std::uint64_t dynamic_size = 64u << 10;
  std::memcpy(image.data() + sizes, &dynamic_size, sizeof dynamic_size);
  std::memcpy(image.data() + sizes + 8, &dynamic_size, sizeof dynamic_size);
  image.resize(image.size() + dynamic_size);
  ImageMemory memory(app_base, std::move(image));
  const std::size_t most = RuntimeSearch::max_searched_bytes / dynamic_size;
  const std::vector<LoadedModule> modules(most + 100, {.path = "/lib/a.so", .base = app_base});
  const RuntimeSearch found = locate_runtimes(memory, modules, Cpu::x64);
  CHECK(found.runtimes.empty());
  REQUIRE(found.problems.size() == 1);
  CHECK(found.problems[0].find("more modules are not searched for a runtime: those before them") !=
        std::string::npos);
}

TEST_CASE("the version of a runtime: by path, by the text in its image") {
  MemoryBuilder memory(known_platform());
  const auto version = [&](const std::string& path, Address base) {
    return runtime_version(memory, {.path = path, .base = base});
  };
  CHECK(version("/usr/share/dotnet/shared/Microsoft.NETCore.App/10.0.12/libcoreclr.so", 0) == "10.0.12");
  CHECK(version("/x/Microsoft.NETCore.App/11.0.0-preview.1/libcoreclr.so", 0) == "11.0.0-preview.1");
  CHECK(version("/x/Microsoft.NETCore.App/libcoreclr.so", 0).empty());
  CHECK(version("/x/libcoreclr.so", 0x1000).empty());
  const auto with_text = [&](std::string_view text, Address at) {
    ElfModuleBuilder elf{.platform = known_platform()};
    memory.write(library_base, elf.loaded(library_base, true));
    memory.at(library_base + at).utf8(text);
    return version("/app/libcoreclr.so", library_base);
  };
  CHECK(with_text("@(#)Version 10.0.1226.42308 @Commit: x", 0x4100) == "10.0.12");
  CHECK(with_text("@(#)Version 9.0.2226.52218 @Commit: x", 0x4100) == "9.0.22");
  CHECK(with_text("@(#)Version 8.0.23.53103 @Commit: x", 0x4100) == "8.0.0");
  CHECK(with_text("@(#)Version unknown", 0x4100).empty());
  CHECK(with_text("@(#)Version 99999999999.0.0.0", 0x4100).empty());
}

TEST_CASE("the version of a runtime of which a minimal core holds two pages") {
  const ElfModuleBuilder elf{.platform = known_platform()};
  std::vector<std::byte> header = elf.loaded(library_base, true);
  header.resize(0x1000);
  MemoryBuilder memory(known_platform());
  memory.write(library_base, header);
  memory.write(library_base + 0x4000, std::vector<std::byte>(0x100));
  memory.at(library_base + 0x4100).utf8("@(#)Version 10.0.0.1 ");
  RecordingReader recording(memory);
  CHECK(runtime_version(recording, {.path = "/app/app", .base = library_base}) == "10.0.0");
  CHECK(recording.ranges() ==
        std::vector<MemoryRange>{{library_base, 0x1000}, {library_base + 0x4000, 0x1000}});
}
