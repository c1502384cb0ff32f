// Numbers of things, in sentences.
#include "core/memory/count_text.h"

#include <catch2/catch.hpp>

using namespace clr;

TEST_CASE("one thing, and several", "[count_text]") {
  CHECK(count_text(0, "thread") == "0 threads");
  CHECK(count_text(1, "thread") == "1 thread");
  CHECK(count_text(1234, "thread") == "1234 threads");
  CHECK(count_text(1, "entry", "entries") == "1 entry");
  CHECK(count_text(12345, "entry", "entries") == "12345 entries");
}

TEST_CASE("digits in groups", "[count_text]") {
  CHECK(count_text(1, "thread", Digits::grouped) == "1 thread");
  CHECK(count_text(999, "thread", Digits::grouped) == "999 threads");
  CHECK(count_text(1234, "thread", Digits::grouped) == "1,234 threads");
  CHECK(grouped(18446744073709551615U) == "18,446,744,073,709,551,615");
}
