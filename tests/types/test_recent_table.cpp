// The values of the addresses that were asked for last.
#include "core/types/recent_table.h"

#include <catch2/catch.hpp>

#include <string>

using namespace clr;

namespace {

using Texts = RecentTable<std::string>;
constexpr Address stride = 0x28;

} // namespace

TEST_CASE("recent table: what was added last is found, under its address alone") {
  Texts table;
  CHECK(table.find(0) == nullptr);
  constexpr Address count = 3 * Texts::max_kept;
  std::size_t wrong = 0;
  for (Address i = 0; i < count; ++i) {
    wrong += table.add(i * stride, std::to_string(i)) != std::to_string(i);
    for (Address last = i < 8 ? 0 : i - 8; last <= i; ++last) {
      const std::string* const found = table.find(last * stride);
      wrong += found == nullptr || *found != std::to_string(last);
    }
    wrong += table.find(i * stride + 8) != nullptr;
  }
  CHECK(wrong == 0);
  // What is gone is gone, and what is there is right.
  std::size_t found = 0;
  for (Address i = 0; i < count; ++i) {
    const std::string* const kept = table.find(i * stride);
    found += kept != nullptr ? 1 : 0;
    wrong += kept != nullptr && *kept != std::to_string(i);
  }
  CHECK(wrong == 0);
  CHECK(found == table.size());
  CHECK(found <= Texts::max_kept);
  CHECK(found > Texts::max_kept / 2);
}

TEST_CASE("recent table: methods that call each other do not drive each other out") {
  // The addresses of a few hundred methods, as chunks of them lie.
  Texts table;
  constexpr Address count = 300;
  for (Address i = 0; i < count; ++i) table.add(0x7f00'0000'0000 + i * stride, std::to_string(i));
  std::size_t missing = 0;
  for (Address i = 0; i < count; ++i) missing += table.find(0x7f00'0000'0000 + i * stride) == nullptr ? 1 : 0;
  CHECK(missing == 0);
}
