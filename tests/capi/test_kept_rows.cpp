// Rows that are kept until all are made.
#include "capi/kept_rows.h"

#include <catch2/catch.hpp>

using namespace clr::capi;

TEST_CASE("Kept rows are handed out in their order, while they are wanted") {
  KeptRows rows;
  CHECK(rows.add("1"));
  CHECK(rows.add("2"));
  CHECK(rows.add("3"));
  std::string out;
  rows.emit([&](std::string_view row) {
    out += row;
    return out.size() < 2;
  });
  CHECK(out == "12");
  std::vector<std::string> notes;
  rows.tell(notes);
  CHECK(notes.empty());
}

TEST_CASE("Rows that have no room are left out, and that is told") {
  KeptRows rows(10);
  CHECK(rows.add("1234"));
  CHECK_FALSE(rows.add("1234567"));
  CHECK_FALSE(rows.add("1")); // it would stand in a gap
  std::size_t count = 0;
  rows.emit([&](std::string_view) { return ++count != 0; });
  CHECK(count == 1);
  std::vector<std::string> notes;
  rows.tell(notes);
  CHECK(notes == std::vector<std::string>{"only the first 1 rows have room: the rest is left out"});
}
