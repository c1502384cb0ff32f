// Which methods breakpoints may mean. Lines are tried on real programs by the live tests.
#include "extension/breakpoints/wanted_methods.h"
#include "tests/extension/watched_program.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

using Rids = std::vector<std::uint32_t>;

BreakpointWish named(std::string name) {
  return {BreakpointWish::Kind::name, {std::move(name)}, {}, 0};
}

Rids wanted(const BreakpointWish& wish) {
  WatchedProgram program;
  Runtime runtime = program.runtime();
  const auto tokens = wanted_methods(runtime, std::vector{wish}, program.app);
  REQUIRE(tokens);
  Rids rids;
  for (const std::uint32_t token : *tokens) rids.push_back(token & 0x00FF'FFFF);
  return rids;
}

} // namespace

TEST_CASE("wanted methods: by name, with what a compiler made of them", "[wanted_methods]") {
  CHECK(wanted(named("Place")) == Rids{1, 3, 4, 5, 6});
  CHECK(wanted(named("Orders.Place")) == Rids{1, 3, 4});
  CHECK(wanted(named("Shop.Orders.Place(int)")) == Rids{1, 3, 4});
  CHECK(wanted(named("Shop.Other.Place")) == Rids{5, 6});
  CHECK(wanted(named("Replace")) == Rids{7});
  CHECK(wanted(named("MoveNext")) == Rids{3});
  CHECK(wanted(named("Count")).empty()); // LLDB does not mean get_Count either
  CHECK(wanted(named("Nowhere")).empty());
}

TEST_CASE("wanted methods: an address is there or is not", "[wanted_methods]") {
  CHECK(wanted({BreakpointWish::Kind::address, {}, {}, 0}).empty());
}

TEST_CASE("wanted methods: types in types have a limit of text, and no method is of two types",
          "[wanted_methods]") {
  WatchedProgram program;
  const auto module_of = [&](const MetadataBuilder& metadata, std::string name) {
    return program.types.module(
        {.path = "/app/" + name, .file_name = name, .simple_name = name, .metadata = metadata.build()});
  };
  MetadataBuilder few, many, shared;
  const auto nest = [](MetadataBuilder& metadata, unsigned levels) {
    metadata.assembly("deep");
    std::uint32_t around = metadata.type("", "Outer");
    for (unsigned i = 0; i < levels; ++i) around = metadata.nested(std::string(4'000, 'n'), around);
    metadata.method("Place", bytes_of({0, 0, 1}));
  };
  nest(few, 40);
  nest(many, 400);
  shared.assembly("shared");
  // Every second list of methods begins behind the end, and the one before it has all of them.
  for (unsigned i = 0; i < 6; ++i) shared.type("Shop", "Type" + std::to_string(i));
  shared.method("Place", bytes_of({0, 0, 1}));
  for (std::uint32_t rid = 1; rid <= shared.rows(MetadataTable::type_def); ++rid)
    shared.set(MetadataTable::type_def, rid, 5, rid % 2 == 0 ? 1 : 2);
  const Address deep = module_of(few, "few.dll"), deeper = module_of(many, "many.dll"),
                lying = module_of(shared, "shared.dll");
  Runtime runtime = program.runtime();
  const auto tokens = wanted_methods(runtime, std::vector{named("Place")}, deep);
  REQUIRE(tokens);
  CHECK(*tokens == std::vector<std::uint32_t>{0x0600'0001});
  CHECK_FALSE(wanted_methods(runtime, std::vector{named("Place")}, deeper));
  CHECK_FALSE(wanted_methods(runtime, std::vector{named("Place")}, lying));
}

TEST_CASE("wanted methods: what cannot be told", "[wanted_methods]") {
  WatchedProgram program;
  Runtime runtime = program.runtime();
  const auto ask = [&](const BreakpointWish& wish, Address module) {
    return wanted_methods(runtime, std::vector{wish}, module);
  };
  CHECK_FALSE(ask({BreakpointWish::Kind::pattern, {"Pl.*"}, {}, 0}, program.app));
  CHECK_FALSE(ask({BreakpointWish::Kind::unknown, {}, {}, 0}, program.app));
  CHECK_FALSE(ask(named("Place"), program.edited)); // gets more methods while it runs
  CHECK_FALSE(ask(named("Place"), 0x6666'0000));    // no module
  CHECK(ask({BreakpointWish::Kind::line, {}, "app.cs", 3}, program.app)->empty()); // without symbols no line
}
