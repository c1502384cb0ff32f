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

TEST_CASE("the part before the last", "[last_name]") {
  CHECK(qualifier_of("Demo.Pair<int>.Swap(int)") == "Demo.Pair<int>");
  CHECK(qualifier_of("Ns.T..ctor") == "Ns.T");
  CHECK(qualifier_of("Swap").empty());
  CHECK(qualifier_of(".cctor").empty());
}

TEST_CASE("the name of a type for comparing", "[last_name]") {
  CHECK(plain_type_name("Ns.Outer<int>+Inner`1") == "Ns.Outer.Inner");
  CHECK(plain_type_name("Ns.Outer/<Run>d__1") == "Ns.Outer.<Run>d__1");
  CHECK(plain_type_name("<Run>d__1<T>") == "<Run>d__1");
  CHECK(plain_type_name("").empty());
  CHECK(is_type_called("Ns.Outer.Inner", "Inner"));
  CHECK(is_type_called("Ns.Outer.Inner", "Ns.Outer.Inner"));
  CHECK_FALSE(is_type_called("Ns.Outer.Inner", "nner"));
  CHECK_FALSE(is_type_called("Ns.Outer.Inner", "Outer"));
}
