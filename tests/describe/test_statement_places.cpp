#include "core/describe/statement_places.h"

#include <catch2/catch.hpp>

using namespace clr;

namespace {
SequencePoint point(std::uint32_t il, std::uint32_t line) {
  return {.il_offset = il, .document = 1, .start_line = line};
}
// A `foreach` at line 11: it begins, its body is line 12, it goes round, and what it went over is disposed
// of.
const std::vector<SequencePoint> points = {point(0, 10),  point(8, 11),  {.il_offset = 12, .hidden = true},
                                           point(16, 11), point(24, 12), point(30, 11)};

StatementPlace at(Address body, std::uint32_t il, bool first = true) {
  StatementPlace place;
  place.body = place.part = body;
  place.statement = place.il = il;
  place.at = body + il;
  place.first_of_line = first;
  return place;
}
using Indices = std::vector<std::size_t>;
} // namespace

TEST_CASE("statement places: the statement of an IL offset, and whether its line begins there") {
  CHECK(statement_of_line(points, 9, 11) == StatementOfLine{8, true});
  CHECK(statement_of_line(points, 13, 11) == StatementOfLine{8, true}); // what is hidden is of the one before
  CHECK(statement_of_line(points, 16, 11) == StatementOfLine{16, false});
  CHECK(statement_of_line(points, 200, 11) == StatementOfLine{30, false});
  CHECK(statement_of_line(points, 24, 12) == StatementOfLine{24, true});
  CHECK_FALSE(statement_of_line(points, 24, 11));
  CHECK_FALSE(statement_of_line({}, 24, 11));
  const std::vector<SequencePoint> late = {{.il_offset = 0, .hidden = true}, point(4, 10)};
  CHECK(statement_of_line(late, 1, 10) == StatementOfLine{4, true}); // the prologue
  CHECK_FALSE(statement_of_line(std::vector<SequencePoint>{{.il_offset = 0, .hidden = true}}, 1, 0));
}

TEST_CASE("statement places: a line is come to at its first statement, in each body") {
  CHECK(later_statements({}).empty());
  const std::vector<StatementPlace> two = {at(0x1000, 8), at(0x1000, 16, false), at(0x2000, 8),
                                           at(0x2000, 30, false)};
  CHECK(later_statements(two) == Indices{1, 3});
  // The JIT copies a finally block: both are the statement.
  std::vector<StatementPlace> copied = {at(0x1000, 8), at(0x1000, 8)};
  copied[1].part = 0x1800;
  CHECK(later_statements(copied).empty());
  copied[1].il = 11; // the copy lacks the beginning
  CHECK(later_statements(copied).empty());
  copied[1].part = 0x1000; // a block of variables begins in the middle of the statement
  CHECK(later_statements(copied) == Indices{1});
  // Optimised code may have nothing of the first statement.
  copied[1].il = 8; // LLDB has a place at the prologue of a handler, and one behind it
  copied[0].prologue = true;
  CHECK(later_statements(copied) == Indices{0});
  copied[0].prologue = false;
  copied[1].at += 4;
  CHECK(later_statements(copied) == Indices{1});
  const std::vector<StatementPlace> optimised = {at(0x1000, 30, false), at(0x1000, 16, false)};
  CHECK(later_statements(optimised) == Indices{0});
  const std::vector<StatementPlace> unknown = {at(0x1000, 8), {}, {.body = 0x1000, .part = 0x1000}};
  CHECK(later_statements(unknown).empty());
}

TEST_CASE("statement places: a body that is entered in a loop has no beginning of the loop's line") {
  std::vector<StatementPlace> places = {at(0x1000, 8), at(0x2000, 16, false)};
  CHECK(later_statements(places).empty());
  places[1].entered_in_loop = true;
  CHECK(later_statements(places) == Indices{1});
  places[1] = at(0x2000, 8);
  places[1].entered_in_loop = true; // the loop is in another one
  CHECK(later_statements(places).empty());
}

TEST_CASE("statement places: the end of a block of an iterator is no beginning of its line") {
  std::vector<StatementPlace> places = {at(0x1000, 8), at(0x2000, 0)};
  places[0].machine = "Ns.Type+<Lines>d__3";
  places[1].part_of = "Ns.Type+<Lines>d__3";
  CHECK(later_statements(places) == Indices{1});
  places[1].part_of = "Ns.Type+<Others>d__4";
  CHECK(later_statements(places).empty());
  places[0].machine = {}; // a `finally` block that somebody wrote, whose line the rest of the method has not
  places[1].part_of = "Ns.Type+<Lines>d__3";
  CHECK(later_statements(places).empty());
}
