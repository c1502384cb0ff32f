#include "extension/lldb/compared_text.h"
#include "extension/lldb/csharp_expression.h"
#include "extension/lldb/csharp_tokens.h"

#include <catch2/catch.hpp>

#include <map>

using namespace clr::lldb_plugin;

namespace {
// What LLDB would say at a stop in Shop.Orders.Find.
std::string type_of(const std::string& expression) {
  static const std::map<std::string, std::string> known{
      {"order", "Shop.Order"},
      {"order.Name", "System.String"},
      {"order.Id", "int"},
      {"order.Name._stringLength", "int"},
      {"order.Items", "System.Collections.Generic.List<int>"},
      {"order.Items._size", "int"},
      {"order.Due", "System.Nullable<int>"},
      {"order.Due.value", "int"},
      {"names", "System.String[]"},
      {"bytes", "unsigned char *"},
      {"names[ 0 ]", "System.String"},
      {"map", "System.Collections.Generic.Dictionary<string, int>"},
      {"(map._count - map._freeCount)", "int"},
      {"this", "Shop.Orders"},
      {"this->mood", "Shop.Mood"},
      {"mood", "Shop.Mood"},
      {"Shop::Mood::Calm", "Shop.Mood"},
      {"((Shop.Order) o)", "Shop.Order"},
      {"( ( Shop.Order ) o ) . Name", "System.String"},
      {"( Shop.Order ) o", "Shop.Order"},
  };
  const auto found = known.find(expression);
  return found == known.end() ? "" : found->second;
}

std::string meant(std::string_view text) {
  return csharp_expression(text, {type_of, {"Shop", "Orders"}}).value_or("as it is");
}
} // namespace

TEST_CASE("null in expressions of C#", "[extension]") {
  CHECK(meant("order == null") == "((unsigned long)&(order) == 0)");
  CHECK(meant("order != null && order.Id > 7") == "((unsigned long)&(order) != 0) && order.Id > 7");
  CHECK(meant("null == order.Name") == "((unsigned long)&(order.Name) == 0)");
  CHECK(meant("order is null || order.Items is not null") ==
        "((unsigned long)&(order) == 0) || ((unsigned long)&(order.Items) != 0)");
  CHECK(meant("!(order==null)") == "! ( ((unsigned long)&(order) == 0) )");
  CHECK(meant("(Shop.Order)o == null") == "((unsigned long)&(( Shop.Order ) o) == 0)");
  // A structure is no reference.
  CHECK(meant("order.Due == null") == "(!(order.Due).hasValue)");
  CHECK(meant("order.Due != null") == "((order.Due).hasValue)");
  CHECK(meant("bytes == null") == "((bytes) == 0)");
  CHECK(meant("nothing == null") == "as it is");
  CHECK(meant("null") == "as it is");
  CHECK(meant("== null") == "as it is");
}

TEST_CASE("texts in expressions of C#", "[extension]") {
  CHECK(meant("order.Name == \"\"") ==
        "((unsigned long)&(order.Name) != 0 && (order.Name)._stringLength == 0)");
  CHECK(meant("order.Name != \"a\"") ==
        "(!((unsigned long)&(order.Name) != 0 && (order.Name)._stringLength == 1 && "
        "*(unsigned short *)((char *)&(order.Name)._firstChar + 0) == 0x61ull))");
  // Seven units: four, two and one.
  CHECK(meant("\"order7\\n\" == order.Name")
            .find("_stringLength == 7 && *(unsigned long long *)((char *)&(order.Name)._firstChar + 0) == "
                  "0x6500640072006full && *(unsigned int *)((char *)&(order.Name)._firstChar + 8) == "
                  "0x370072ull && "
                  "*(unsigned short *)((char *)&(order.Name)._firstChar + 12) == 0xaull") !=
        std::string::npos);
  // Outside of the first plane a character takes two units.
  CHECK(meant("order.Name == \"\\u00e9\xC3\xA9\xF0\x9F\x98\x80\"").find("== 0xde00d83d00e900e9ull") !=
        std::string::npos);
  CHECK(meant("names[0] == \"x\"").starts_with("((unsigned long)&(names[ 0 ]) != 0 && "));
  CHECK(meant("((Shop.Order)o).Name == \"x\"").starts_with("((unsigned long)&(( ( Shop.Order ) o ) . Name)"));
  CHECK(meant("order == \"x\"") == "as it is"); // no string
  CHECK(meant("order.Name == \"\\q\"") == "as it is");
  CHECK(meant("order.Name == \"open") == "as it is");
  CHECK(meant("order.Name == \"" + std::string(max_compared_literal + 1, 'x') + "\"") == "as it is");
  CHECK(meant("order.Name == \"null == order\"").find("0x6c006c0075006eull") != std::string::npos);
}

TEST_CASE("members that LLDB spells otherwise", "[extension]") {
  CHECK(meant("this.mood == mood") == "this->mood == mood");
  CHECK(meant("mood == Mood.Calm") == "mood == Shop::Mood::Calm");
  CHECK(meant("mood == Shop.Mood.Calm") == "mood == Shop::Mood::Calm");
  CHECK(meant("order.Name.Length > 3") == "order.Name._stringLength > 3");
  CHECK(meant("order.Items.Count - 1") == "order.Items._size - 1");
  CHECK(meant("map.Count == 0") == "(map._count - map._freeCount) == 0");
  CHECK(meant("order.Due.Value == 3") == "order.Due.value == 3");
  CHECK(meant("order.Id == 'x'") == "as it is");
  CHECK(meant("order.Total > 3") == "as it is"); // LLDB's own error says that there is no such field
  CHECK(meant("Mood.Wild == mood") == "as it is");
  CHECK(meant("") == "as it is");
  CHECK(meant(std::string(2 * max_expression_tokens, '+')) == "as it is");
}

TEST_CASE("expressions that change nothing", "[extension]") {
  CHECK(only_reads("order.Id == 3 && (x <= 4)"));
  CHECK(only_reads("order.Name == \"a = b()\""));
  for (const char* const text : {"x = 3", "x += 1", "x++", "--x", "f(x)", "x <<= 1", ""}) {
    CAPTURE(text);
    CHECK_FALSE(only_reads(text));
  }
}

TEST_CASE("expressions that only C# has", "[extension]") {
  for (const char* const text : {"a == null", "a is not null", "null != a", "a.b == \"x\"", "\"x\" != a"}) {
    CAPTURE(text);
    CHECK(is_surely_csharp(text));
  }
  for (const char* const text : {"a == 3", "f(\"x\")", "null", "a == nullptr", "'\"' == c", ""}) {
    CAPTURE(text);
    CHECK_FALSE(is_surely_csharp(text));
  }
}

TEST_CASE("where a function looks for names", "[extension]") {
  CHECK(scope_of_function("Shop.Orders<int, A.B>.Find(System.String)") ==
        std::vector<std::string>{"Shop", "Orders<int, A.B>"});
  CHECK(scope_of_function("Main()").empty());
  CHECK(scope_of_function("").empty());
}
