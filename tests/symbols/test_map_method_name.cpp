#include "core/symbols/map_method_name.h"

#include <catch2/catch.hpp>

using namespace clr;

TEST_CASE("names of perf maps come apart") {
  const auto jitted =
      parse_map_method("instance void [app] Ns.Outer+Inner`1[System.Int32]::Run(int32,string[])");
  REQUIRE(jitted);
  CHECK(jitted->assembly == "app");
  CHECK(jitted->name == "Ns.Outer+Inner`1.Run");
  CHECK(jitted->full_name == "Ns.Outer+Inner`1[System.Int32].Run(int32,string[])");
  const auto compiled =
      parse_map_method("System.Collections.Generic.List`1[System.Int32] Ns.Type::Items(System.Func`2[A, B])");
  REQUIRE(compiled);
  CHECK(compiled->assembly.empty());
  CHECK(compiled->name == "Ns.Type.Items");
  CHECK(compiled->full_name == "Ns.Type.Items(System.Func`2[A, B])");
  CHECK(parse_map_method("Ns.Dictionary`2[A, B]::.ctor()")->name == "Ns.Dictionary`2..ctor");
  for (const char* other : {"stub PRECODE<x>", "memcpy", "::Run()", "A::", ""})
    CHECK_FALSE(parse_map_method(other));
}
