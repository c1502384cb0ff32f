// Text that is cut ends between two characters.
#include "extension/commands/shortened.h"

#include <catch2/catch.hpp>

#include <string>

using clr::lldb_plugin::shortened;

TEST_CASE("what is short enough stays as it is", "[shortened]") {
  CHECK(shortened("", 0) == "");
  CHECK(shortened("abc", 3) == "abc");
  CHECK(shortened("ab\xc3\xa9", 4) == "ab\xc3\xa9");
}

TEST_CASE("a character is cut whole", "[shortened]") {
  CHECK(shortened("abcd", 3) == "abc");
  CHECK(shortened("ab\xc3\xa9", 3) == "ab");
  CHECK(shortened("a\xe2\x82\xac!", 2) == "a");
  CHECK(shortened("a\xe2\x82\xac!", 3) == "a");
  CHECK(shortened("a\xe2\x82\xac!", 4) == "a\xe2\x82\xac");
  for (std::size_t bytes = 1; bytes < 5; ++bytes) CHECK(shortened("a\xf0\x9f\x98\x80!", bytes) == "a");
  CHECK(shortened("\xe2\x82\xac", 2) == "");
}

TEST_CASE("bytes that are no UTF-8 are cut where the limit is", "[shortened]") {
  const std::string bytes(20, '\x80');
  CHECK(shortened(bytes, 10).size() == 10);
  CHECK(shortened(bytes, 1).size() <= 1);
}
