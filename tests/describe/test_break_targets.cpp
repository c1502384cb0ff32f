#include "core/describe/break_targets.h"
#include "tests/support/pdb_builder.h"
#include "tests/types/runtime_types.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

// A runtime of one module without symbols. Its methods: 1 Ns.Outer.Run(int), 2 Ns.Outer.Run(), 3
// Ns.Outer.Walk(), 4 Ns.Outer+Inner.Run(), 5 Ns.Box<T>.Run(), 6 Other.Outer.Run(),
// 7 a method whose names hold control characters.
struct TargetsProcess {
  RuntimeTypes types{
      {.pointer_size = 8, .byte_order = ByteOrder::little, .cpu = Cpu::x64, .os = Os::unix_like}};
  Address app = 0;
  std::vector<LoadedModule> modules;

  TargetsProcess() {
    MetadataBuilder metadata;
    metadata.assembly("app");
    const Bytes nothing = bytes_of({0, 0, 1}), number = bytes_of({0, 1, 1, 0x08});
    const std::uint32_t outer = metadata.type("Ns", "Outer");
    metadata.method("Run", number);
    metadata.method("Run", nothing);
    metadata.method("Walk", nothing);
    metadata.nested("Inner", outer);
    metadata.method("Run", nothing);
    metadata.generic_parameter(MetadataTable::type_def, metadata.type("Ns", "Box`1"), 0, "T");
    metadata.method("Run", nothing);
    metadata.type("Other", "Outer");
    metadata.method("Run", nothing);
    metadata.type("Odd\x1b", "Type\u202e");
    metadata.method("Cl\near", nothing);
    app = types.module(
        {.path = "/app/app.dll", .file_name = "app.dll", .simple_name = "app", .metadata = metadata.build()});
    types.app_domain({app});
    modules = {{.path = "/usr/share/dotnet/libcoreclr.so",
                .base = 0x20'0000,
                .size = 0x1'0000,
                .build_id = {},
                .contract_descriptor = types.target.write_descriptor()}};
  }

  Runtime runtime() { return {types.target.memory(), modules, types.target.platform(), nullptr}; }

  std::vector<std::uint32_t> rids(std::string_view name) {
    Runtime of = runtime();
    std::vector<std::uint32_t> found;
    for (const BreakTarget& target : methods_called(of, name, {}).methods)
      found.push_back(target.token & 0x00FF'FFFF);
    return found;
  }
};

using Rids = std::vector<std::uint32_t>;

} // namespace

TEST_CASE("break targets: a name, with and without its type and namespace") {
  TargetsProcess process;
  CHECK(process.rids("Run") == Rids{1, 2, 4, 5, 6});
  CHECK(process.rids("Walk") == Rids{3});
  CHECK(process.rids("Outer.Run") == Rids{1, 2, 6});
  CHECK(process.rids("Ns.Outer.Run") == Rids{1, 2});
  CHECK(process.rids("Other.Outer.Run") == Rids{6});
  CHECK(process.rids("Ns.Outer.Run(int)") == Rids{1, 2}); // parameters are not compared
}

TEST_CASE("break targets: nested and generic types however they are written") {
  TargetsProcess process;
  for (const char* name : {"Inner.Run", "Outer+Inner.Run", "Outer.Inner.Run", "Ns.Outer+Inner.Run"})
    CHECK(process.rids(name) == Rids{4});
  for (const char* name :
       {"Box.Run", "Ns.Box.Run", "Ns.Box<int>.Run", "Ns.Box`1.Run", "Box<Ns.Box<int>>.Run"})
    CHECK(process.rids(name) == Rids{5});
}

TEST_CASE("break targets: names as they are, or as they are shown") {
  TargetsProcess process;
  CHECK(process.rids("Cl\near") == Rids{7});
  CHECK(process.rids("Cl\\x0aear") == Rids{7});
  CHECK(process.rids("Odd\\x1b.Type\\u202e.Cl\\x0aear") == Rids{7});
  CHECK(process.rids("Other.Cl\\x0aear").empty());
}

TEST_CASE("break targets: what no method is called") {
  TargetsProcess process;
  for (const char* name : {"run", "Missing", "uter.Run", "s.Outer.Run", "Outer.", "", ".", "(", "<"}) {
    CAPTURE(name);
    CHECK(process.rids(name).empty());
  }
}

TEST_CASE("break targets: what a target tells") {
  TargetsProcess process;
  Runtime runtime = process.runtime();
  const BreakTargets found = methods_called(runtime, "Outer.Walk", {});
  REQUIRE(found.methods.size() == 1);
  CHECK(found.methods[0].module == "app.dll");
  CHECK(found.methods[0].module_address == process.app);
  CHECK(found.methods[0].token == 0x0600'0003);
  CHECK(found.methods[0].name == "Ns.Outer.Walk()");
  CHECK(found.methods[0].user_name.empty());
  CHECK(found.modules == 1);
}

TEST_CASE("break targets: a module without symbols has no lines, and is named") {
  TargetsProcess process;
  Runtime runtime = process.runtime();
  const BreakTargets found = methods_at_line(runtime, "Program.cs", 10, {});
  CHECK(found.methods.empty());
  CHECK_FALSE(found.file_known);
  CHECK(found.silent == std::vector<std::string>{"app.dll"});
}

TEST_CASE("break targets: whether a module has a type of a name") {
  TargetsProcess process;
  Runtime runtime = process.runtime();
  for (const char* name : {"Outer", "Ns.Outer", "Outer+Inner", "Outer.Inner", "Inner", "Box", "Ns.Box<int>",
                           "Box`1", "Odd\\x1b.Type\\u202e"}) {
    CAPTURE(name);
    CHECK(types_called(runtime, name, {}).any);
  }
  for (const char* name : {"Missing", "outer", "uter", "s.Outer", "Ns", "Other.Inner", "Run"}) {
    CAPTURE(name);
    CHECK_FALSE(types_called(runtime, name, {}).any);
  }
  CHECK(types_called(runtime, "Missing", {}).modules == 1);
  CHECK(types_called(runtime, "Missing", {}).silent.empty());
}

TEST_CASE("break targets: given up when asked to") {
  TargetsProcess process;
  Runtime runtime = process.runtime();
  CHECK(methods_called(runtime, "Run", [] { return true; }).methods.empty());
}

TEST_CASE("break targets: a search of many points can be given up between two methods") {
  PdbBuilder builder;
  builder.metadata.heap_widths.blob = 4;
  const std::uint32_t document = builder.document("/a.cs");
  PointsBlob points;
  for (std::uint32_t i = 0; i < 70'000; ++i) points.at(i, 10, 1, 10, 9);
  const std::uint32_t blob = builder.metadata.blob(points.bytes);
  for (std::uint32_t rid = 1; rid <= 4; ++rid) {
    builder.method(document);
    builder.metadata.set(MetadataTable::method_debug_information, rid, 1, blob);
  }
  const auto pdb = PortablePdb::of_bytes(builder.build(), "a.pdb");
  std::size_t asked = 0;
  const auto found = [&](std::size_t most) {
    asked = 0;
    return nearest_methods(*pdb, {document}, 5, [&] { return ++asked > most; });
  };
  CHECK(found(100).tokens.size() == 4);
  CHECK(asked == 3);
  const MethodsAtLine first = found(0);
  CHECK(asked == 1);
  CHECK(first.line == 10);
  CHECK(first.tokens == std::vector<std::uint32_t>{0x0600'0001});
}
