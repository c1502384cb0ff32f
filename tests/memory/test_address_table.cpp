// The flat table of values by address.
#include "core/memory/address_table.h"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

using namespace clr;

TEST_CASE("address table: values are found, and stay where they are") {
  AddressTable<std::string> table;
  CHECK(table.find(0) == nullptr);
  CHECK(table.size() == 0);
  constexpr Address stride = 0x28, count = 5000;
  std::vector<const std::string*> places;
  for (Address i = 0; i < count; ++i) places.push_back(&table.add(i * stride, std::to_string(i)));
  CHECK(table.size() == count);
  std::size_t wrong = 0;
  for (Address i = 0; i < count; ++i) {
    wrong += table.find(i * stride) != places[i] || *places[i] != std::to_string(i);
    wrong += table.find(i * stride + 8) != nullptr;
  }
  CHECK(wrong == 0);
}
