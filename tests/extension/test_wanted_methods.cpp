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
