// The text of awaits in the arms of a switch expression.
#include "core/waits/await_lines.h"
#include "tests/support/metadata_builder.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

SequencePoint point(std::uint32_t il, std::uint32_t line, std::uint32_t column, std::uint32_t end_line,
                    std::uint32_t end_column) {
  return {il, 1, line, column, end_line, end_column, false};
}
SequencePoint hidden(std::uint32_t il) {
  return {il, 1, 0, 0, 0, 0, true};
}

// 40 times nop, but for what is put there.
struct Code {
  Bytes il = Bytes(40, std::byte{0});
  Code& put(std::size_t at, std::initializer_list<unsigned> bytes) {
    for (const unsigned byte : bytes) il[at++] = static_cast<std::byte>(byte);
    return *this;
  }
};

// Of one await.
std::optional<std::uint32_t> arm_of_await(const std::vector<SequencePoint>& points, const Bytes& il,
                                          std::uint32_t yield) {
  std::size_t left = 1'000;
  return AwaitArms(points, il).of(yield, left);
}

// text = number switch { 1 => await ..., 2 => await ... + await ... };
const std::vector<SequencePoint> arms{point(0, 10, 9, 14, 11),   hidden(6),  hidden(8),
                                      point(15, 12, 18, 12, 33), hidden(18), hidden(20),
                                      point(30, 13, 18, 13, 47), hidden(32), point(34, 15, 9, 15, 20)};

} // namespace

TEST_CASE("an await of an arm has the text of the arm", "[await_lines]") {
  const Bytes il = Code().put(9, {0xde, 20}).put(16, {0x2b, 14}).il; // leave.s; behind the first arm br.s
  CHECK(arm_of_await(arms, il, 9) == 15u);
  // Not that of the arm before, also where an arm has two.
  CHECK(arm_of_await(arms, il, 20) == 30u);
  CHECK(arm_of_await(arms, il, 26) == 30u);
}

TEST_CASE("an await between statements has the text in front of it", "[await_lines]") {
  const Bytes il = Code().il;
  CHECK_FALSE(arm_of_await(arms, il, 32)); // the next statement is no part of this one
  CHECK_FALSE(arm_of_await(arms, il, 36)); // there is no point behind it
  CHECK_FALSE(arm_of_await({}, il, 1));
  const std::vector<SequencePoint> statements{point(0, 10, 9, 10, 30), hidden(5), point(12, 11, 9, 11, 20)};
  CHECK_FALSE(arm_of_await(statements, il, 5));
}

TEST_CASE("an await that the arms are chosen by is in none of them", "[await_lines]") {
  // brfalse.s to the second arm
  CHECK_FALSE(arm_of_await(arms, Code().put(10, {0x2c, 10}).il, 9));
  CHECK_FALSE(arm_of_await(arms, Code().put(10, {0x45, 1, 0, 0, 0, 10, 0, 0, 0}).il, 9)); // switch
  // A jump that does not pass the arm's own end is its own.
  CHECK(arm_of_await(arms, Code().put(10, {0x2c, 3}).il, 9) == 15u);
  // Unoptimised code has a point where the arm is chosen.
  auto debug = arms;
  debug.insert(debug.begin() + 1, point(4, 10, 30, 14, 10));
  CHECK_FALSE(arm_of_await(debug, Code().il, 2));
}

TEST_CASE("code that is cut is an error", "[await_lines]") {
  Bytes il = Code().il;
  il.back() = std::byte{0x28};
  CHECK_THROWS_AS(arm_of_await(arms, il, 9), Error);
}

TEST_CASE("points of a method are compared once, and as often as is left", "[await_lines]") {
  const Bytes il = Code().put(9, {0xde, 20}).put(16, {0x2b, 14}).il;
  AwaitArms method(arms, il);
  std::size_t left = 1'000;
  CHECK(method.of(20, left) == 30u);
  const std::size_t first = 1'000 - left;
  CHECK(first >= arms.size());
  CHECK(method.of(20, left) == 30u);
  CHECK(1'000 - left == 2 * first - arms.size());
  left = 3;
  CHECK_FALSE(AwaitArms(arms, il).of(20, left));
  CHECK(left == 0);
}

TEST_CASE("an instruction is hidden when the last point in front of it is", "[await_lines]") {
  const AwaitArms method(arms, Code().il);
  CHECK_FALSE(method.is_hidden(5));
  CHECK(method.is_hidden(6));
  CHECK(method.is_hidden(14));
  CHECK_FALSE(method.is_hidden(15));
  CHECK_FALSE(AwaitArms({}, Code().il).is_hidden(5));
}
