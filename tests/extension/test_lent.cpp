// Who has an object in hand, and who only uses it in passing.
#include "extension/session/lent.h"

#include <catch2/catch.hpp>

#include <memory>

using namespace clr::lldb_plugin;

TEST_CASE("only who was lent an object counts", "[lent]") {
  Lent<int> lent;
  const auto object = std::make_shared<int>(7);
  const std::shared_ptr<int> in_passing = object;
  CHECK_FALSE(lent.is_lent(object));
  std::shared_ptr<int> first = lent.lend(object);
  std::shared_ptr<int> second = lent.lend(object);
  CHECK(first == object);
  CHECK(lent.is_lent(object));
  first.reset();
  CHECK(lent.is_lent(object));
  second.reset();
  CHECK_FALSE(lent.is_lent(object));
}

TEST_CASE("an object lives as long as somebody was lent it, and no longer", "[lent]") {
  Lent<int> lent;
  auto object = std::make_shared<int>(7);
  const std::weak_ptr<int> watched = object;
  std::shared_ptr<int> kept = lent.lend(object);
  object.reset();
  CHECK(*kept == 7);
  kept.reset();
  CHECK(watched.expired());
}

TEST_CASE("another object is not lent because the one before is", "[lent]") {
  Lent<int> lent;
  const auto before = std::make_shared<int>(1), now = std::make_shared<int>(2);
  const std::shared_ptr<int> of_before = lent.lend(before);
  CHECK_FALSE(lent.is_lent(now));
  const std::shared_ptr<int> of_now = lent.lend(now);
  CHECK(lent.is_lent(now));
  CHECK(*of_before == 1);
  CHECK_FALSE(Lent<int>{}.is_lent(nullptr));
}
