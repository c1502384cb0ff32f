#include "core/types/last_name.h"

#include <catch2/catch.hpp>

using namespace clr;

TEST_CASE("the last part of a name", "[last_name]") {
  CHECK(last_name("Swap") == "Swap");
  CHECK(last_name("Demo.Pair<int>.Swap(int, System.Collections.Generic.List<Ns.T>)") == "Swap");
  CHECK(last_name("Ns.T.Make<Ns.U>") == "Make");
  CHECK(last_name("Ns.T..ctor") == ".ctor");
  CHECK(last_name(".cctor") == ".cctor");
  CHECK(last_name("Ns.T.<Main>$") == "<Main>$");
  CHECK(last_name("Program.<>c.<Main>b__0_1") == "<Main>b__0_1");
  CHECK(last_name("").empty());
}
