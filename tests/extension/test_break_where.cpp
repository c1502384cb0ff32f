// What the WHERE of `clr break` says.
#include "extension/commands/break_where.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::lldb_plugin;

TEST_CASE("a file and a line are a place, other texts are names", "[break_where]") {
  const auto place = file_and_line("src/Program.cs:41");
  REQUIRE(place);
  CHECK(place->file == "src/Program.cs");
  CHECK(place->line == 41);
  for (const char* const name : {"Run", "A::B", ":41", "Program.cs:", "Program.cs:0", "Program.cs:4x",
                                 "Program.cs:4294967296", "Program.cs:-1", ""})
    CHECK_FALSE(file_and_line(name));
}

TEST_CASE("a name with parameters is found as it is written", "[break_where]") {
  CHECK(pattern_of("Box<T>.Put(int[], a?)") == R"((^|[.])Box<T>\.Put\(int\[\], a\?\)($|[( ]))");
}

TEST_CASE("LLDB is given the whole names of what a short one means", "[break_where]") {
  const std::vector<BreakTarget> methods{
      {.name = "Shop.Cart.Run(int)"},
      {.name = "Shop.Cart.Run(string)"}, // the same without parameters
      {.name = "Shop.Cart+<Run>d__1.MoveNext()", .user_name = "Shop.Cart.Run(long)"},
      {.name = "Shop.Desk.Run()"}};
  CHECK(names_of("Run", methods) == std::vector<std::string>{"Run", "Shop.Cart.Run", "Shop.Desk.Run"});
  // It has a type already.
  CHECK(names_of("Cart.Run", methods) == std::vector<std::string>{"Cart.Run"});

  std::vector<BreakTarget> many;
  for (std::size_t i = 0; i < max_where_names + 10; ++i)
    many.push_back({.name = std::to_string(i) + ".Run()"});
  const std::vector<std::string> names = names_of("Run", many);
  CHECK(names.size() == max_where_names);
  CHECK(names.back() == std::to_string(max_where_names - 2) + ".Run");
}
