#include "core/runtime/heap_report.h"

#include <catch2/catch.hpp>

using namespace clr;

TEST_CASE("beyond a number of bytes, of a name its beginning is kept") {
  const std::string longer(1'000, 'x'), cut = std::string(NameBudget::max_cut, 'x') + "...";
  NameBudget names(2'500);
  CHECK(names.keep(longer) == longer);
  CHECK(names.keep("short") == "short");
  CHECK(names.keep(longer) == longer);
  CHECK(names.keep(longer) == cut);
  for (unsigned i = 0; i < 10; ++i) CHECK(names.keep(longer) == cut);
  CHECK(names.keep(std::string(400, 'y')).size() == cut.size());
  CHECK(names.keep("short") == "short");
}
