#include "core/runtime/named_code.h"
#include "tests/types/runtime_types.h"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace clr;
using namespace clr::test;

namespace {

constexpr Platform platform{
    .pointer_size = 8, .byte_order = ByteOrder::little, .cpu = Cpu::x64, .os = Os::unix_like};
constexpr Address run = 0x2'1000, walk = 0x2'2000, move_next = 0x2'3000, nameless = 0x2'4000;

// Ns.Outer.Run and Walk, the state machine of a method Wander, and code of a method that cannot be read.
struct Process {
  Process() : types(platform) {
    MetadataBuilder metadata;
    metadata.assembly("app");
    metadata.type("Ns", "Outer"); // 2
    metadata.method("Run", bytes_of({0, 1, 1, 0x08}));
    metadata.method("Walk", bytes_of({0, 0, 1}));
    metadata.type("", "<Wander>d__1"); // 3
    metadata.method("MoveNext", bytes_of({0, 0, 1}));
    const Address app = types.module(
        {.path = "/app/app.dll", .file_name = "app.dll", .simple_name = "app", .metadata = metadata.build()});
    types.app_domain({app});
    const std::vector<Address> outer =
        types.chunk(types.type({.module = app, .rid = 2}), {{.rid = 1}, {.rid = 2}});
    const std::vector<Address> machine = types.chunk(types.type({.module = app, .rid = 3}), {{.rid = 3}});
    auto heap = types.execution.heap(0x2'0000, 0xA'0000);
    for (const auto& [start, desc] : {std::pair{run, outer[0]},
                                      {walk, outer[1]},
                                      {move_next, machine[0]},
                                      {nameless, Address{0x7777'0000}}})
      types.execution.method(heap, {.start = start, .size = 0x50, .method_desc = desc});
    runtime = std::make_unique<Runtime>(
        types.target.memory(),
        std::vector<LoadedModule>{{.path = "/usr/lib/libcoreclr.so",
                                   .base = 0x20'0000,
                                   .size = 0x1'0000,
                                   .build_id = {},
                                   .contract_descriptor = types.target.write_descriptor()}},
        platform, nullptr);
  }

  std::optional<std::vector<Address>> named(const std::vector<std::string>& names) {
    return code_named(*runtime, names, {});
  }

  RuntimeTypes types;
  std::unique_ptr<Runtime> runtime;
};

using Starts = std::vector<Address>;

} // namespace

TEST_CASE("code is found by the last part of a method's name") {
  Process process;
  REQUIRE(process.runtime->absence() == nullptr);
  // Code whose method cannot be read may always be meant.
  CHECK(process.named({"Run"}) == Starts{run, nameless});
  CHECK(process.named({"Ns.Outer.Run(int)"}) == Starts{run, nameless});
  CHECK(process.named({"Elsewhere.Walk"}) == Starts{walk, nameless});
  CHECK(process.named({"Walk", "Run"}) == Starts{run, walk, nameless});
  CHECK(process.named({"Outer"}) == Starts{run, walk, nameless}); // a constructor may be called so
  CHECK(process.named({"Ns.Outer.Wander"}) == Starts{move_next, nameless});
  CHECK(process.named({"Nothing"}) == Starts{nameless});
  CHECK(code_named(*process.runtime, std::vector<std::string>{"Run"}, {}, SearchedCode::jitted) ==
        Starts{run, nameless});
}

TEST_CASE("a search that cannot tell says so") {
  Process process;
  for (const char* name : {"", "Ns.", "int[]", "a b", "x`1", "Outer::Run"})
    CHECK_FALSE(process.named({name}));
  CHECK_FALSE(process.named({"Run", ""}));
}

TEST_CASE("code without symbols is of no file") {
  Process process;
  CHECK(code_in_files(*process.runtime, std::vector<std::string>{"Outer.cs"}, {}) == Starts{});
}

TEST_CASE("without a runtime no code is found") {
  MemoryBuilder memory;
  Runtime runtime(memory, {}, platform, nullptr);
  CHECK(code_named(runtime, std::vector<std::string>{"Run"}, {}) == Starts{});
  CHECK(code_in_files(runtime, std::vector<std::string>{"Run.cs"}, {}) == Starts{});
}
