// Which frames a running exception handler has left behind.
#include "core/stack/left_frames.h"

#include <catch2/catch.hpp>

using namespace clr;
using Stand = LeftFrames::Stand;

namespace {

constexpr Address method = 0x1000, other = 0x2000;
enum Code { ordinary, handler, filter };

// A walk; a frame register of 0: the body has none.
class LeftWalk {
public:
  Stand next(Address body, Code code, Address frame_register) {
    return frames.next(body, code != ordinary, code == handler, [&] {
      ++asked;
      return frame_register == 0 ? std::nullopt : std::optional(frame_register);
    });
  }
  LeftFrames frames;
  int asked = 0;
};

} // namespace

TEST_CASE("frames up to the method of a handler are left behind") {
  LeftWalk walk;
  CHECK(walk.next(other, ordinary, 0x10) == Stand::alive); // called by the handler
  CHECK_FALSE(walk.frames.waits_for());
  CHECK(walk.next(method, handler, 0x80) == Stand::alive);
  CHECK(walk.frames.waits_for() == method);
  CHECK(walk.next(other, ordinary, 0x40) == Stand::left);
  CHECK(walk.next(method, ordinary, 0x60) == Stand::left); // another activation
  CHECK(walk.next(method, ordinary, 0x80) == Stand::method);
  CHECK_FALSE(walk.frames.waits_for());
  CHECK(walk.next(method, ordinary, 0x80) == Stand::alive);
}

TEST_CASE("handlers of one activation have one method; one met later is another's") {
  LeftWalk walk;
  CHECK(walk.next(method, handler, 0x80) == Stand::alive);
  CHECK(walk.next(method, handler, 0x80) == Stand::left); // in which it threw
  CHECK(walk.next(other, handler, 0x90) == Stand::left);
  CHECK(walk.next(method, ordinary, 0x80) == Stand::method);
  CHECK(walk.next(other, handler, 0x90) == Stand::alive);
  CHECK(walk.frames.waits_for() == other);
}

TEST_CASE("a filter leaves nothing behind") {
  LeftWalk walk;
  CHECK(walk.next(method, filter, 0x80) == Stand::alive);
  CHECK_FALSE(walk.frames.waits_for());
  CHECK(walk.next(method, ordinary, 0x80) == Stand::alive);
  CHECK(walk.asked == 0);
}

TEST_CASE("methods without a frame register are told apart by their bodies alone; another walk forgets") {
  LeftWalk walk;
  CHECK(walk.next(method, handler, 0) == Stand::alive);
  CHECK(walk.next(other, ordinary, 0) == Stand::left);
  CHECK(walk.asked == 1);
  CHECK(walk.next(method, ordinary, 0) == Stand::method);
  CHECK(walk.next(method, handler, 0) == Stand::alive);
  walk.frames.begin();
  CHECK(walk.next(other, ordinary, 0) == Stand::alive);
}
