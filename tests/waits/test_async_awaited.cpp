// What an async method waits for, as text.
#include "core/waits/async_awaited.h"

#include <catch2/catch.hpp>

using namespace clr;

TEST_CASE("the object of a wait stands behind its whole text", "[async_awaited]") {
  CHECK(text_with_object({AwaitedKind::semaphore, "a SemaphoreSlim", 0x7f08}) == "a SemaphoreSlim (0x7f08)");
  CHECK(text_with_object({AwaitedKind::semaphore, "a SemaphoreSlim, for 00:00:01 at most", 0x7f08}) ==
        "a SemaphoreSlim, for 00:00:01 at most (0x7f08)");
  CHECK(text_with_object({AwaitedKind::unknown, "nothing that is known", 0}) == "nothing that is known");
}
