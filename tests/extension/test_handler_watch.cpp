// Steps that end in exception handlers.
#include "extension/breakpoints/handler_watch.h"
#include "tests/extension/fake_plants.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::lldb_plugin;

namespace {
constexpr std::uint64_t stepping = 7, other = 8;

struct Step {
  FakePlants plants;
  // The innermost caller goes on at 0x3010, and at 0x5010 without a line.
  HandlerWatch watch{plants,
                     [](Address at) {
                       return at == 0x5010 ? std::vector<Address>{0x5020, 0x5030} : std::vector<Address>{at};
                     },
                     [this](Address handler) { return handler == 0x2100 ? behind : std::vector<Address>{}; }};
  std::vector<Address> behind; // the handler without a line
  HandlerEntries inner{.shown = {{0x10F0, 0x1100}, {0x11F0, 0x1200}}, .hidden = {}},
      hidden{.shown = {}, .hidden = {0x2100}}, outer{.shown = {{0x30F0, 0x3100}}, .hidden = {}}, nothing;
  // A method with handlers, one whose handler has no line, and their caller.
  std::vector<HandlerWatch::Frame> frames{
      {.pc = 0x1010, .rbp = 0xA0, .has_line = true, .handlers = &inner},
      {.pc = 0x2010, .rbp = 0xB0, .has_line = false, .handlers = &hidden},
      {.pc = 0x3010, .rbp = 0xC0, .has_line = true, .handlers = &outer},
      {.pc = 0x4010},
  };
  void arm(bool out = false, std::vector<Address> resumes = {}) { watch.arm(stepping, frames, out, resumes); }
};
} // namespace

TEST_CASE("a step ends at the handlers of its frames", "[handler_watch]") {
  Step step;
  step.arm();
  CHECK(step.plants.stops() == std::set<Address>{0x1100, 0x1200, 0x2100, 0x3100});
  CHECK(step.watch.hit(stepping, 0x1100, 0xA0));
  CHECK(step.watch.hit(stepping, 0x3100, 0xC0));
  CHECK_FALSE(step.watch.hit(stepping, 0x1100, 0xC0)); // of a deeper call of the same method
  CHECK_FALSE(step.watch.hit(other, 0x1100, 0xA0));
  CHECK_FALSE(step.watch.hit(stepping, 0x9999, 0xA0));
}

TEST_CASE("behind a handler without lines the step ends in the caller", "[handler_watch]") {
  Step step;
  step.arm();
  CHECK_FALSE(step.watch.hit(stepping, 0x3010, 0xC0));
  CHECK_FALSE(step.watch.hit(stepping, 0x2100, 0xB0));
  CHECK(step.plants.stops().contains(0x3010));
  CHECK(step.watch.hit(stepping, 0x3010, 0xC0));
}

TEST_CASE("a step ends behind a handler without lines when its method goes on there", "[handler_watch]") {
  Step step;
  step.behind = {0x2050, 0x2060};
  step.frames.resize(2); // nobody has called it who has a line
  step.arm();
  CHECK_FALSE(step.watch.hit(stepping, 0x2060, 0xB0));
  CHECK_FALSE(step.watch.hit(stepping, 0x2100, 0xB0));
  CHECK(step.plants.stops().contains(0x2050));
  CHECK_FALSE(step.watch.hit(stepping, 0x2060, 0xC0)); // another call of the method
  CHECK(step.watch.hit(stepping, 0x2060, 0xB0));
}

TEST_CASE("where the caller goes on without a line the step ends at its next one", "[handler_watch]") {
  Step step;
  step.frames[2].pc = 0x5010;
  step.arm();
  CHECK_FALSE(step.watch.hit(stepping, 0x2100, 0xB0));
  CHECK_FALSE(step.watch.hit(stepping, 0x5010, 0xC0));
  CHECK(step.watch.hit(stepping, 0x5030, 0xC0));
  CHECK_FALSE(step.watch.hit(stepping, 0x5030, 0xD0));
}

TEST_CASE("a step out leaves its own handlers alone", "[handler_watch]") {
  Step step;
  step.arm(true);
  CHECK_FALSE(step.watch.hit(stepping, 0x1100, 0xA0));
  CHECK(step.watch.hit(stepping, 0x3100, 0xC0));
}

TEST_CASE("a step shows later that it is one out of its frame", "[handler_watch]") {
  Step step;
  step.arm();
  step.watch.steps_out();
  CHECK_FALSE(step.watch.hit(stepping, 0x1100, 0xA0));
  CHECK_FALSE(step.watch.hit(stepping, 0x1200, 0xA0));
  CHECK(step.watch.hit(stepping, 0x3100, 0xC0));
  step.arm();
  CHECK(step.watch.hit(stepping, 0x1100, 0xA0));
}

TEST_CASE("a step over calls in a filter does not end in what the filter's method has called",
          "[handler_watch]") {
  Step step;
  HandlerEntries called{.shown = {{0x60F0, 0x6100}}, .hidden = {0x6200}};
  step.frames = {{.pc = 0x11F8, .rbp = 0xA0, .has_line = true, .funclet = true, .handlers = &step.inner},
                 {.pc = 0x7000},
                 {.pc = 0x6010, .rbp = 0x90, .has_line = true, .handlers = &called}, // has thrown
                 {.pc = 0x1010, .rbp = 0xA0, .has_line = true, .handlers = &step.inner},
                 step.frames[2]};
  step.arm();
  CHECK(step.watch.hit(stepping, 0x6100, 0x90)); // a step into them does
  step.watch.steps_over();
  CHECK_FALSE(step.watch.hit(stepping, 0x6100, 0x90));
  CHECK_FALSE(step.watch.hit(stepping, 0x6200, 0x90));
  CHECK_FALSE(step.watch.hit(stepping, 0x1010, 0xA0)); // behind its handler without lines
  CHECK(step.watch.hit(stepping, 0x1100, 0xA0));       // the method's own
  CHECK(step.watch.hit(stepping, 0x3100, 0xC0));
  step.arm();
  step.watch.steps_out();
  CHECK_FALSE(step.watch.hit(stepping, 0x6100, 0x90));
  CHECK(step.watch.hit(stepping, 0x3100, 0xC0));
  // Not in a handler: the frame's callers all count.
  step.frames.erase(step.frames.begin(), step.frames.begin() + 2);
  step.arm();
  step.watch.steps_over();
  CHECK(step.watch.hit(stepping, 0x6100, 0x90));
}

TEST_CASE("a step in the first line of a handler goes on from there", "[handler_watch]") {
  Step step;
  step.frames = {{.pc = 0x10FF, .rbp = 0xA0, .has_line = true, .funclet = true, .handlers = &step.inner},
                 {.pc = 0x1010, .rbp = 0xA0, .has_line = true, .handlers = &step.inner}};
  step.arm();
  CHECK_FALSE(step.watch.hit(stepping, 0x1100, 0xA0));
  CHECK(step.watch.hit(stepping, 0x1200, 0xA0)); // the next handler
}

TEST_CASE("a handler may begin right behind the one that a step leaves", "[handler_watch]") {
  Step step;
  step.inner.shown.push_back({0x1115, 0x1116});
  step.frames = {{.pc = 0x1110, .rbp = 0xA0, .has_line = true, .funclet = true, .handlers = &step.inner},
                 {.pc = 0x1010, .rbp = 0xA0, .has_line = true, .handlers = &step.inner}};
  step.arm();
  CHECK(step.watch.hit(stepping, 0x1116, 0xA0));
}

TEST_CASE("a step within a handler follows where it goes on", "[handler_watch]") {
  Step step;
  step.frames = {{.pc = 0x1110, .rbp = 0xA0, .has_line = true, .funclet = true, .handlers = &step.inner},
                 {.pc = 0x5010}, // the runtime
                 {.pc = 0x1010, .rbp = 0xA0, .has_line = true, .handlers = &step.inner}};
  step.arm(false, {0x1300});
  CHECK(step.watch.hit(stepping, 0x1300, 0xA0));
  CHECK_FALSE(step.watch.goes_on(other, 0x5010));
  CHECK(step.watch.goes_on(stepping, 0x5010));
  CHECK_FALSE(step.watch.goes_on(stepping, 0x5010)); // once
  step.arm();
  CHECK_FALSE(step.watch.goes_on(stepping, 0x1010));
}

TEST_CASE("when the step has ended nobody stops, when the process runs on there are no places",
          "[handler_watch]") {
  Step step;
  step.arm();
  step.watch.end_step();
  CHECK_FALSE(step.watch.hit(stepping, 0x1100, 0xA0));
  CHECK(step.plants.stops().size() == 4); // LLDB still tells where it stopped
  step.watch.disarm();
  CHECK(step.plants.stops().empty());
  CHECK(step.plants.at.size() == 4);
  step.arm();
  CHECK(step.plants.at.size() == 4); // used again
  CHECK(step.plants.stops().size() == 4);
  step.watch.forget();
  CHECK(step.plants.at.empty());
}

TEST_CASE("behind code without lines the step ends in the next caller", "[handler_watch]") {
  Step step;
  step.frames[0].returns_to_caller = true;
  step.arm();
  CHECK(step.plants.stops().contains(0x3010));
  CHECK(step.watch.hit(stepping, 0x3010, 0xC0));
  CHECK_FALSE(step.watch.hit(stepping, 0x3010, 0xA0)); // another call of the caller
  CHECK_FALSE(step.watch.hit(other, 0x3010, 0xC0));
  step.arm(true);
  CHECK(step.watch.hit(stepping, 0x3010, 0xC0));
  // A caller with lines is the debugger's to come to.
  step.frames[1].has_line = true;
  step.arm();
  CHECK_FALSE(step.watch.hit(stepping, 0x3010, 0xC0));
  CHECK_FALSE(step.watch.hit(stepping, 0x2010, 0xB0));
  // Nobody has lines.
  step.frames[1].has_line = step.frames[2].has_line = false;
  step.arm();
  CHECK_FALSE(step.watch.hit(stepping, 0x3010, 0xC0));
}

TEST_CASE("a step ends at any place that it is told of", "[handler_watch]") {
  Step step;
  step.arm();
  step.watch.stop_at(0x1500, 0xA0);
  CHECK(step.watch.hit(stepping, 0x1500, 0xA0));
  CHECK_FALSE(step.watch.hit(stepping, 0x1500, 0xB0)); // of a deeper call
  step.watch.disarm();
  CHECK_FALSE(step.plants.stops().contains(0x1500));
}

TEST_CASE("a method that waits in its middle is followed otherwise", "[handler_watch]") {
  Step step;
  step.arm();
  CHECK_FALSE(step.plants.stops().contains(0x3010));
}
