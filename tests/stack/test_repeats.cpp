#include "core/stack/repeats.h"

#include <catch2/catch.hpp>

using namespace clr;

namespace {
using Keys = std::vector<std::uint64_t>;
using Runs = std::vector<RepeatRun>;
} // namespace

TEST_CASE("a stack without recursion is one run") {
  CHECK(find_repeats(Keys{}).empty());
  CHECK(find_repeats(Keys{1, 2, 3, 4}) == Runs{{.first = 0, .period = 4, .count = 1}});
}

TEST_CASE("recursion folds into one run with its count") {
  Keys keys{9};
  keys.insert(keys.end(), 200'000, 5);
  keys.insert(keys.end(), {7, 8});
  CHECK(find_repeats(keys) == Runs{{.first = 0, .period = 1, .count = 1},
                                   {.first = 1, .period = 1, .count = 200'000},
                                   {.first = 200'001, .period = 2, .count = 1}});
}

TEST_CASE("mutual recursion folds by its cycle, and what is left of a cycle stays") {
  Keys keys;
  for (int i = 0; i < 10; ++i) keys.insert(keys.end(), {1, 2, 3});
  keys.push_back(1);
  CHECK(find_repeats(keys) ==
        Runs{{.first = 0, .period = 3, .count = 10}, {.first = 30, .period = 1, .count = 1}});
}

TEST_CASE("few repetitions and cycles that are too long are left alone") {
  CHECK(find_repeats(Keys{1, 1, 1, 2}) == Runs{{.first = 0, .period = 4, .count = 1}});
  Keys keys;
  for (int i = 0; i < 10; ++i)
    for (std::uint64_t k = 0; k <= max_repeat_period; ++k) keys.push_back(k);
  CHECK(find_repeats(keys) == Runs{{.first = 0, .period = keys.size(), .count = 1}});
}
