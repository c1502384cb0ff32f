#include "core/runtime/runtime.h"
#include "tests/support/execution_builder.h"
#include "tests/support/faults.h"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {
LoadedModule module_at(Address base, std::uint64_t size, std::string path,
                       std::optional<Address> descriptor = std::nullopt) {
  return {
      .path = std::move(path), .base = base, .size = size, .build_id = {}, .contract_descriptor = descriptor};
}

// A runtime with one code heap and one method, whose MethodDesc nobody can read.
struct Process {
  explicit Process(Platform platform) : builder(platform) {
    auto heap = builder.heap(0x40'0000, 0x48'0000);
    builder.method(heap, {.start = 0x40'1000, .size = 0x50, .method_desc = 0x7777'0000});
    builder.types().variable("AppDomain", 0x1234);
    descriptor = builder.types().write_descriptor();
  }
  std::vector<LoadedModule> modules() const {
    return {module_at(0x30'0000, 0x1'0000, "/lib/libc.so.6"),
            module_at(0x20'0000, 0x1'0000, "/usr/share/dotnet/libcoreclr.so", descriptor)};
  }
  ExecutionBuilder builder;
  Address descriptor = 0;
};

const MissAnswer& miss_of(const runtime::Answer& answer) {
  REQUIRE(std::holds_alternative<MissAnswer>(answer.result));
  return std::get<MissAnswer>(answer.result);
}
} // namespace

TEST_CASE("a process without a runtime answers every address with that") {
  MemoryBuilder memory;
  Runtime runtime(memory, {module_at(0x1000, 0x1000, "/bin/true")}, {}, nullptr);
  REQUIRE(runtime.absence() != nullptr);
  const runtime::Answer answer = runtime.resolve(0x1234);
  CHECK(answer.address == 0x1234);
  CHECK(miss_of(answer).reason == MissReason::no_runtime);
  CHECK(runtime.target() == nullptr);
  CHECK(runtime.code() == nullptr);
  CHECK(runtime.names() == nullptr);
  bool visited = false;
  CHECK(runtime.for_each_method({}, [&](const MethodRow&) { return visited = true; }).empty());
  CHECK_FALSE(visited);
  CHECK(runtime.info().name.empty());
  CHECK_FALSE(runtime.info().jitted_methods.has_value());
  CHECK(runtime.describe(0x5000).degraded.find("no runtime") != std::string::npos);
}

TEST_CASE("a process that runs Mono is told what it is, and what to use") {
  MemoryBuilder memory;
  Runtime runtime(
      memory,
      {module_at(0x1000, 0x1000, "/srv/app"), module_at(0x20'0000, 0x1000, "/srv/libmonosgen-2.0.so")}, {},
      nullptr);
  REQUIRE(runtime.absence() != nullptr);
  CHECK(miss_of(runtime.resolve(0x1234)).reason == MissReason::no_runtime);
  const std::string text = miss_of(runtime.resolve(0x1234)).text;
  for (const char* part : {"Mono", "libmonosgen-2.0.so", "LLDB's own commands", "only CoreCLR"})
    CHECK(text.find(part) != std::string::npos);
  CHECK(runtime.info().name == "Mono");
}

TEST_CASE("a runtime that has not started says so") {
  for (const Platform platform : execution_platforms()) {
    ExecutionBuilder builder(platform);
    builder.types().variable("AppDomain", 0);
    const Address descriptor = builder.types().write_descriptor();
    Runtime runtime(builder.memory(), {module_at(0x20'0000, 0x1000, "/x/libcoreclr.so", descriptor)},
                    platform, nullptr);
    REQUIRE(runtime.absence() != nullptr);
    CHECK(miss_of(runtime.resolve(0x1000)).reason == MissReason::not_started);
    CHECK(miss_of(runtime.resolve(0x1000)).text.find("libcoreclr.so") != std::string::npos);
  }
}

TEST_CASE("a torn descriptor is told, not guessed around") {
  MemoryBuilder memory;
  const Address descriptor =
      memory.fresh(40).u64(0x1122334455667788).u32(1).u32(100).u64(0).u32(0).u32(0).u64(0).address() - 40;
  Runtime runtime(memory, {module_at(0x20'0000, 0x1000, "/x/libcoreclr.so", descriptor)}, {}, nullptr);
  REQUIRE(runtime.absence() != nullptr);
  const runtime::Answer answer = runtime.resolve(0x1000);
  const std::string text = std::holds_alternative<MissAnswer>(answer.result)
                               ? std::get<MissAnswer>(answer.result).text
                               : std::get<FaultAnswer>(answer.result).text;
  CAPTURE(text);
  CHECK(text.find("libcoreclr.so") != std::string::npos);
}

TEST_CASE("the runtime's own module is found by its descriptor, whatever it is called") {
  for (const Platform platform : execution_platforms()) {
    Process process(platform);
    std::vector<LoadedModule> modules = process.modules();
    modules[1].path = "/srv/single-file-app";
    modules.push_back(module_at(0x50'0000, 0x1000, "/tmp/libcoreclr-tracer.so"));
    Runtime runtime(process.builder.memory(), modules, platform, nullptr);
    const LoadedModule* found = runtime.runtime_module();
    REQUIRE(found != nullptr);
    CHECK(found->base == 0x20'0000);
    CHECK(found->path == "/srv/single-file-app");
  }
  MemoryBuilder memory;
  CHECK(Runtime(memory, {module_at(0x1000, 0x1000, "/x/libcoreclr.so")}, {}, nullptr).runtime_module() ==
        nullptr);
}

TEST_CASE("addresses outside managed code name the module that holds them") {
  for (const Platform platform : execution_platforms()) {
    CAPTURE(to_string(platform));
    Process process(platform);
    Runtime runtime(process.builder.memory(), process.modules(), platform, nullptr);
    if (const auto* absence = runtime.absence()) {
      // A made-up descriptor without the types of names is an unsupported one, with a reason.
      REQUIRE(std::holds_alternative<FaultAnswer>(*absence));
      CHECK(std::get<FaultAnswer>(*absence).kind == ErrorKind::unsupported_contract);
      continue;
    }
    const MissAnswer native = miss_of(runtime.resolve(0x30'0010));
    CHECK(native.reason == MissReason::native);
    CHECK(native.module == "libc.so.6");
    const MissAnswer outside = miss_of(runtime.resolve(0x10));
    CHECK(outside.reason == MissReason::outside);
    CHECK(outside.module.empty());
  }
}

TEST_CASE("modules are found by what they span") {
  MemoryBuilder memory;
  Runtime runtime(memory, {module_at(0x3000, 0x1000, "b"), module_at(0x1000, 0x1000, "a")}, {}, nullptr);
  CHECK(runtime.module_at(0xfff) == nullptr);
  REQUIRE(runtime.module_at(0x1000) != nullptr);
  CHECK(runtime.module_at(0x1000)->path == "a");
  CHECK(runtime.module_at(0x1fff)->path == "a");
  CHECK(runtime.module_at(0x2000) == nullptr);
  CHECK(runtime.module_at(0x3fff)->path == "b");
  CHECK(runtime.module_at(~Address{0}) == nullptr);
}

TEST_CASE("whichever read fails, opening and resolving end in an answer") {
  for (const Platform platform : execution_platforms()) {
    CAPTURE(to_string(platform));
    Process process(platform);
    for_each_failing_read(process.builder.memory(), [&](MemoryReader& memory, std::uint64_t k) {
      CAPTURE(k);
      Runtime runtime(memory, process.modules(), platform, nullptr);
      const runtime::Answer answer = runtime.resolve(0x40'1010);
      // Its MethodDesc cannot be read, so there is never a method, and never a name made up.
      CHECK_FALSE(std::holds_alternative<MethodAnswer>(answer.result));
      runtime.info();
      runtime.for_each_method({}, [&](const MethodRow& row) {
        CHECK_FALSE(row.method.degraded.empty());
        return true;
      });
    });
  }
}

TEST_CASE("R2R images that cannot be read are one problem, and no count of zero functions") {
  Process process(execution_platforms()[0]);
  constexpr Address size = 0x1'0000;
  for (const Address begin : {0x60'0000u, 0x62'0000u})
    process.builder.section({.begin = begin, .end = begin + size, .flags = 0, .r2r_module = 0x7777'1000});
  const auto info = [&](std::size_t readable) {
    for (std::size_t i = 0; i < readable; ++i) {
      const Address begin = 0x80'0000 + 0x2'0000 * i;
      process.builder.image(
          {.begin = begin, .end = begin + size, .functions = {{.begin = 0x2000, .length = 0x10}}});
    }
    const Address descriptor = process.builder.types().write_descriptor();
    std::vector<LoadedModule> modules = process.modules();
    modules.back().contract_descriptor = descriptor;
    return Runtime(process.builder.memory(), modules, execution_platforms()[0], nullptr).info();
  };
  const auto told = [](const RuntimeInfo& of) {
    return std::ranges::count_if(of.problems, [](const std::string& problem) {
      return problem.starts_with("R2R functions of 2 images are not counted: memory at 0x7777") &&
             problem.ends_with(", and so on");
    });
  };
  const RuntimeInfo none = info(0);
  CHECK(told(none) == 1);
  CHECK_FALSE(none.r2r_functions.has_value());
  const RuntimeInfo some = info(1);
  CHECK(told(some) == 1);
  CHECK(some.r2r_functions == 1u);
}
