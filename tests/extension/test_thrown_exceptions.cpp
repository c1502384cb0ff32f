#include "extension/breakpoints/thrown_exceptions.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::lldb_plugin;

namespace {

using Names = std::vector<std::string>;

// Types by their MethodTables; counts who asks.
struct Types {
  std::map<Address, Names> known{
      {0x100, {"Shop.NoStock", "Shop.ShopError", "System.Exception"}},
      {0x200, {"System.Text.Json.JsonException", "System.Exception"}},
      {0x300, {"Shop.Orders+Late", "System.Exception"}},
      {0x400, {"Shop.Orders<int>+Refused<string>", "System.Exception"}},
  };
  int asked = 0;

  ThrownExceptions::Lineage lineage() {
    return [this](Address table) {
      ++asked;
      const auto found = known.find(table);
      return found != known.end() ? found->second : Names();
    };
  }
};

TEST_CASE("thrown exceptions: a breakpoint means a type and what is derived from it") {
  Types types;
  ThrownExceptions throws;
  throws.add(3, "Shop.ShopError");
  throws.add(4, "JsonException");
  throws.add(5, "");
  throws.add(6, "Late");
  throws.add(7, "Error");
  CHECK(throws.means(3, 0x100, types.lineage()));
  CHECK_FALSE(throws.means(3, 0x200, types.lineage()));
  CHECK(throws.means(4, 0x200, types.lineage()));
  CHECK_FALSE(throws.means(4, 0x100, types.lineage()));
  CHECK(throws.means(5, 0x100, types.lineage()));
  CHECK(throws.means(6, 0x300, types.lineage()));
  CHECK_FALSE(throws.means(7, 0x100, types.lineage())); // the end of a word is no name
  CHECK(*throws.type_of(3) == "Shop.ShopError");
  CHECK(throws.type_of(5)->empty());
  CHECK(throws.type_of(8) == nullptr);
}

TEST_CASE("thrown exceptions: a nested type has a dot or a plus, a generic one its arguments or none") {
  Types types;
  ThrownExceptions throws;
  const std::map<std::string, bool> wanted{{"Orders.Late", false},
                                           {"Refused", true},
                                           {"Orders+Refused", true},
                                           {"Shop.Orders.Refused", true},
                                           {"Refused<string>", true},
                                           {"Refused<int>", false},
                                           {"Shop.Orders<int>.Refused<string>", true},
                                           {"Orders", false}};
  std::int32_t id = 10;
  for (const auto& [name, meant] : wanted) {
    CAPTURE(name);
    throws.add(id, name);
    CHECK(throws.means(id++, 0x400, types.lineage()) == meant);
  }
  throws.add(9, "Orders.Late");
  CHECK(throws.means(9, 0x300, types.lineage()));
}

TEST_CASE("thrown exceptions: each type is looked at once, and one that is not known stops") {
  Types types;
  ThrownExceptions throws;
  throws.add(3, "Shop.ShopError");
  for (int i = 0; i < 4; ++i) CHECK_FALSE(throws.means(3, 0x200, types.lineage()));
  CHECK(types.asked == 1);
  CHECK(throws.means(3, 0x999, types.lineage()));
  types.known[0x999] = {"Shop.Later", "System.Exception"};
  CHECK_FALSE(throws.means(3, 0x999, types.lineage()));
  types.known[0x200] = {"Shop.ShopError"};
  throws.forget();
  CHECK(throws.means(3, 0x200, types.lineage()));
}

TEST_CASE("thrown exceptions: a fault is of the exception that it becomes") {
  ThrownExceptions throws;
  throws.add(3, "System.ArithmeticException");
  throws.add(4, "NullReferenceException");
  throws.add(5, "System.Exception");
  CHECK(throws.means_fault(3, 0xC000'0094));
  CHECK(throws.means_fault(3, 0xC000'0095));
  CHECK_FALSE(throws.means_fault(3, 0));
  CHECK(throws.means_fault(4, 0));
  CHECK_FALSE(throws.means_fault(4, 0xC000'0005));
  CHECK(throws.means_fault(5, 0xC000'0094));
  CHECK(throws.means_fault(4, 0x1234)); // what is not known stops
  CHECK(ThrownExceptions::of_fault(0xC000'0094).front() == "System.DivideByZeroException");
}

} // namespace
