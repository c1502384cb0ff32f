#include "core/describe/constructor_lines.h"

#include <catch2/catch.hpp>

#include <utility>

using namespace clr;

namespace {
using Lines = std::vector<std::pair<std::uint32_t, std::uint32_t>>; // document, line; line 0: hidden

std::vector<SequencePoint> points(const Lines& lines) {
  std::vector<SequencePoint> all;
  for (const auto& [document, line] : lines)
    all.push_back({.document = document, .start_line = line, .hidden = line == 0});
  return all;
}

std::uint32_t declared(const Lines& constructor, const Lines& others) {
  return declaration_line(points(constructor), points(others));
}
} // namespace

TEST_CASE("a constructor is declared behind the methods that stand between its lines") {
  CHECK(declared({{1, 3}, {1, 4}, {1, 12}, {1, 13}}, {{1, 6}, {1, 9}}) == 12);
  CHECK(declared({{1, 3}, {1, 20}, {1, 12}, {1, 13}}, {{1, 6}, {1, 15}}) == 20);
  CHECK(declared({{1, 3}, {1, 20}, {0, 0}, {1, 12}, {0, 0}}, {{1, 15}, {0, 0}, {1, 6}}) == 20);
}

TEST_CASE("a constructor whose lines no method parts is declared at its first line") {
  CHECK(declared({{1, 3}, {1, 4}, {1, 12}}, {}) == 0);
  CHECK(declared({{1, 3}, {1, 4}, {1, 12}}, {{1, 1}, {1, 2}, {1, 13}, {1, 40}}) == 0);
  CHECK(declared({{1, 3}, {1, 12}}, {{0, 0}}) == 0);
  CHECK(declared({{1, 3}, {1, 12}}, {{1, 3}, {1, 12}}) == 0);
  CHECK(declared({}, {{1, 3}}) == 0);
  CHECK(declared({{0, 0}}, {{1, 3}}) == 0);
}

TEST_CASE("lines of the constructor's own document part it, and no others") {
  CHECK(declared({{2, 3}, {1, 10}, {1, 30}}, {{2, 20}, {1, 20}}) == 30);
  CHECK(declared({{2, 3}, {1, 30}}, {{2, 20}, {1, 20}}) == 0);
  CHECK(declared({{1, 3}, {1, 30}}, {{2, 20}}) == 0);
}

TEST_CASE("constructors are told by their names") {
  CHECK(is_constructor(".ctor"));
  CHECK(is_constructor(".cctor"));
  CHECK_FALSE(is_constructor("ctor"));
}
