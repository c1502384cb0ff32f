#include "capi/fiber.h"
#include "core/memory/process_memory.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

using clr::Address;
using clr::capi::Fiber;

namespace {

// Uses `frames` frames of a kilobyte, and returns their number.
unsigned deep(unsigned frames) {
  volatile char room[1024];
  room[frames % sizeof room] = 1;
  return frames == 0 ? 0 : deep(frames - 1) + static_cast<unsigned>(room[frames % sizeof room]);
}

// Uses as much in one frame as the fibers below do.
int large(int value) {
  std::array<int, 1000> room;
  room.fill(value);
  return std::accumulate(room.begin(), room.end(), 0);
}

void throw_deep(unsigned frames) {
  volatile char room[256];
  room[frames % sizeof room] = 1;
  if (frames == 0) throw std::runtime_error("from below");
  throw_deep(frames - 1);
  room[0] = 2;
}

} // namespace

TEST_CASE("fiber: the body runs when it is resumed, and until it suspends") {
  std::vector<int> steps;
  Fiber* self = nullptr;
  Fiber fiber([&] {
    steps.push_back(1);
    self->suspend();
    steps.push_back(2);
    self->suspend();
    steps.push_back(3);
  });
  self = &fiber;
  CHECK(steps.empty());
  CHECK_FALSE(fiber.begun());
  fiber.resume();
  CHECK(steps == std::vector{1});
  CHECK(fiber.begun());
  CHECK_FALSE(fiber.ended());
  fiber.resume();
  CHECK(steps == std::vector{1, 2});
  fiber.resume();
  CHECK(steps == std::vector{1, 2, 3});
  CHECK(fiber.ended());
  fiber.resume(); // nothing is left to run
  CHECK(steps == std::vector{1, 2, 3});
}

TEST_CASE("fiber: a body that never ran is dropped") {
  bool ran = false;
  {
    Fiber fiber([&] { ran = true; });
  }
  CHECK_FALSE(ran);
}

TEST_CASE("fiber: what the body throws comes out of resume, once") {
  Fiber* self = nullptr;
  Fiber fiber([&] {
    self->suspend();
    throw_deep(20);
  });
  self = &fiber;
  fiber.resume();
  CHECK_THROWS_WITH(fiber.resume(), "from below");
  CHECK(fiber.ended());
  CHECK_NOTHROW(fiber.resume());
}

TEST_CASE("fiber: exceptions inside and outside do not meet, and locals of both sides stay") {
  Fiber* self = nullptr;
  std::string heard;
  Fiber fiber([&] {
    std::array<int, 1000> values;
    std::iota(values.begin(), values.end(), 1);
    for (int turn = 0; turn < 3; ++turn) {
      try {
        throw_deep(30);
      } catch (const std::runtime_error& error) {
        heard += error.what();
      }
      self->suspend();
      if (std::accumulate(values.begin(), values.end(), 0) != 500'500) heard += " damaged";
    }
  });
  self = &fiber;
  std::array<int, 1000> outside;
  outside.fill(7);
  while (!fiber.ended()) {
    fiber.resume();
    CHECK_THROWS_AS(throw_deep(50), std::runtime_error);
    CHECK(deep(200) == 200);
    CHECK(large(9) == 9000);
    CHECK(std::accumulate(outside.begin(), outside.end(), 0) == 7000);
  }
  CHECK(heard == "from belowfrom belowfrom below");
}

TEST_CASE("fiber: several take turns, and one may resume another") {
  std::string order;
  Fiber *first_self = nullptr, *second_self = nullptr;
  Fiber second([&] {
    order += 'a';
    second_self->suspend();
    order += 'b';
  });
  second_self = &second;
  Fiber first([&] {
    order += '1';
    second.resume();
    order += '2';
    first_self->suspend();
    order += '3';
    CHECK(deep(1000) == 1000); // a quarter of the stack
  });
  first_self = &first;
  first.resume();
  CHECK(order == "1a2");
  second.resume();
  CHECK(order == "1a2b");
  first.resume();
  CHECK(order == "1a2b3");
  CHECK(first.ended());
  CHECK(second.ended());
}

TEST_CASE("fiber: memory below the stack cannot be touched") {
  Address inside = 0;
  std::vector<clr::ProcessMapping> mappings;
  Fiber fiber([&] {
    inside = reinterpret_cast<Address>(__builtin_frame_address(0));
    mappings = clr::process_mappings("/proc/self");
  });
  fiber.resume();
  const auto stack = std::ranges::find_if(mappings, [&](const clr::ProcessMapping& mapping) {
    return mapping.begin <= inside && inside < mapping.end;
  });
  REQUIRE(stack != mappings.end());
  REQUIRE(stack != mappings.begin());
  const clr::ProcessMapping& below = *std::prev(stack);
  CHECK(stack->access == "rw-p");
  CHECK(below.end == stack->begin);
  CHECK(below.access == "---p");
}
