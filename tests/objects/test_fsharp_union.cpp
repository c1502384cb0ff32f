#include "core/objects/value_parts.h"
#include "tests/objects/union_types.h"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

using namespace clr;
using namespace clr::test;

TEST_CASE("a union of F# is its case with the fields of that case", "[objects]") {
  for (const Platform& platform : all_platforms()) {
    DYNAMIC_SECTION(to_string(platform)) {
      ObjectRuntime r(platform);
      UnionTypes types(r);
      ObjectView view(r);
      std::vector<std::string> texts, parts;
      for (const Address object : union_samples(types)) {
        texts.push_back(view.objects.describe_object(object));
        ValueParts all = ValueParts::of_object(view.objects, object);
        for (std::uint64_t i = 0; i < all.count(); ++i) parts.push_back(all.at(view.objects, i)->name);
        parts.emplace_back("|");
      }
      CHECK(texts == std::vector<std::string>{"Circle(5)", "Rect(2, 3)", "Empty", "(Ns.Reply) Good(7)",
                                              "(Ns.Reply) Bad(9)"});
      CHECK(parts ==
            std::vector<std::string>{"radius", "|", "width", "height", "|", "|", "value", "|", "Item1", "|"});
    }
  }
}

TEST_CASE("a structure of a union with the number of no case is shown by its fields", "[objects]") {
  ObjectRuntime r(all_platforms().front());
  UnionTypes types(r);
  ObjectView view(r);
  ValueParts parts = ValueParts::of_object(view.objects, types.make(types.reply, 2, {7, 9}));
  REQUIRE(parts.count() == 3);
  CHECK(parts.at(view.objects, 0)->name == "_tag");
}
