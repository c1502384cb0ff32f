#include "core/objects/spelled_types.h"
#include "tests/objects/object_runtime.h"
#include "tests/support/faults.h"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

using namespace clr;
using namespace clr::test;

namespace {

std::vector<std::string> names_in(std::string_view expression) {
  std::vector<std::string> names;
  for (const SpelledName& name : spelled_names(expression)) {
    std::string text;
    for (const std::string& part : name.parts) text += (text.empty() ? "" : name.colons ? "::" : ".") + part;
    names.push_back(text);
  }
  return names;
}

} // namespace

TEST_CASE("the names of types in an expression", "[objects]") {
  using Names = std::vector<std::string>;
  CHECK(names_in("((Shop::Circle &)shape).Radius") == Names{"Shop::Circle"});
  CHECK(names_in("sizeof(Shop::Circle)+sizeof(Shop::Circle)") == Names{"Shop::Circle"});
  CHECK(names_in("Shop.Totals.Sum + other.x") == Names{"Shop.Totals.Sum", "other.x"});
  CHECK(names_in("Shop::Totals::Corner.Y") == Names{"Shop::Totals::Corner"});
  CHECK(names_in("p->a.b") == Names{});
  CHECK(names_in("a > Shop.Totals.Sum") == Names{"Shop.Totals.Sum"});
  CHECK(names_in("list[0].Name.Length") == Names{});
  CHECK(names_in("f(1).x.y") == Names{});
  CHECK(names_in("1.5f + 0x10.a") == Names{});
  CHECK(names_in("\"Shop::Circle\" 'a' \"\\\"A::B") == Names{});
  CHECK(names_in("plain") == Names{});
  CHECK(names_in("A::") == Names{});
  CHECK(names_in("").empty());
  std::string many;
  for (int i = 0; i < 100; ++i) many += " A.b" + std::to_string(i);
  CHECK(names_in(many).size() == max_spelled_names);
}

TEST_CASE("loaded types are found as they are spelled", "[objects]") {
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      ObjectRuntime r(platform);
      ObjectView view(r);
      CHECK(spelled_type("System.Collections.Generic.List<int>") == "System.Collections.Generic.List_int_");
      CHECK(spelled_type("A.B<C.D<E.F>>.G") == "A.B_C_D_E_F__.G");
      const std::string names[] = {"Ns.Dog", "Ns.Nothing", "System.Collections.Generic.List_int_"};
      const auto found = find_spelled(view.objects, names);
      CHECK(found.size() == 2);
      CHECK(found.at("Ns.Dog") == r.dog_type);
      CHECK(found.at("System.Collections.Generic.List_int_") == r.list_of_int);
    }
  }
}
