// The words before objects, by which state machines are known again.
#include "core/objects/state_machine.h"

#include <catch2/catch.hpp>

using namespace clr;

TEST_CASE("a hash code or a sync block tells an object wherever it is", "[state_machine]") {
  CHECK(ObjectHeader{0}.identity() == 0);
  CHECK(ObjectHeader{0x0000'0401}.identity() == 0);           // locked by thread 0x401
  CHECK(ObjectHeader{0x4C00'1234}.identity() == 0x0400'1234); // the bits above are no part of it
  CHECK(ObjectHeader{0x0C00'1234}.identity() == 0x0400'1234);
  CHECK(ObjectHeader{0x0800'1234}.identity() == 0x1234);
}

TEST_CASE("an object without a hash code gets one as from the runtime", "[state_machine]") {
  CHECK(ObjectHeader{0}.with_hash(0x1234) == 0x0C00'1234);
  CHECK(ObjectHeader{0x4000'0000}.with_hash(0xFFFF'FFFF) == 0x4FFF'FFFF); // its finalizer has run
  CHECK(ObjectHeader{0x0C00'0001}.with_hash(2) == std::nullopt);
  CHECK(ObjectHeader{0x0800'0001}.with_hash(2) == std::nullopt);
  CHECK(ObjectHeader{0x0000'0401}.with_hash(2) == std::nullopt); // locked
  CHECK(ObjectHeader{0x1000'0000}.with_hash(2) == std::nullopt); // being changed
}
