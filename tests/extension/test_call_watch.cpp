// Steps into calls that go through stubs.
#include "extension/breakpoints/call_watch.h"
#include "tests/extension/fake_plants.h"

#include <catch2/catch.hpp>

#include <vector>

using namespace clr;
using namespace clr::lldb_plugin;

namespace {
constexpr std::uint64_t stepping = 7, other = 8;
constexpr Address callers_cfa = 0xF000;

class FakeHit final : public CallWatch::Visitor {
public:
  FakeHit(std::uint64_t thread, Address pc, Address caller) : thread_(thread), pc_(pc), caller_(caller) {}
  std::uint64_t thread() override { return thread_; }
  Address pc() override { return pc_; }
  bool is_called_by(Address cfa) override { return cfa == caller_; }
  std::vector<Address> lines(Address at) override { return {at, at + 0x10, at + 0x20}; }

private:
  std::uint64_t thread_;
  Address pc_, caller_;
};

struct Called {
  FakePlants plants;
  CallWatch watch{plants};
  bool hit(std::uint64_t thread, Address pc, Address caller = callers_cfa) {
    FakeHit visitor(thread, pc, caller);
    return watch.hit(visitor);
  }
};
} // namespace

TEST_CASE("a step ends in the first line of what its line calls", "[call_watch]") {
  Called step;
  step.watch.arm(stepping, {callers_cfa}, std::vector<CallWatch::Place>{{0x1000}, {0x2000}});
  CHECK(step.plants.stops() == std::set<Address>{0x1000, 0x2000});
  CHECK(step.plants.limits == std::map<Address, std::uint64_t>{{0x1000, stepping}, {0x2000, stepping}});
  CHECK(step.hit(stepping, 0x1000));
  CHECK_FALSE(step.hit(other, 0x1000));
  CHECK_FALSE(step.hit(stepping, 0x1000, callers_cfa - 0x100)); // somebody else calls it
  CHECK_FALSE(step.hit(stepping, 0x3000));
}

TEST_CASE("a method that the call compiles is one of them", "[call_watch]") {
  Called step;
  step.watch.add({0x1000});
  CHECK(step.plants.stops().empty()); // nobody steps
  step.watch.arm(stepping, {callers_cfa}, {});
  step.watch.add({0x1000});
  step.watch.add({}); // not known where its first line is
  CHECK(step.plants.stops() == std::set<Address>{0x1000});
  CHECK(step.hit(stepping, 0x1000));
}

TEST_CASE("the places of a step are not those of the next", "[call_watch]") {
  Called step;
  step.watch.arm(stepping, {callers_cfa}, std::vector<CallWatch::Place>{{0x1000}});
  step.watch.end_step();
  CHECK(step.plants.stops() == std::set<Address>{0x1000}); // the debugger still has to tell of the stop
  CHECK_FALSE(step.hit(stepping, 0x1000));
  step.watch.arm(stepping, {callers_cfa}, std::vector<CallWatch::Place>{{0x2000}});
  CHECK(step.plants.stops() == std::set<Address>{0x2000});
  CHECK_FALSE(step.hit(stepping, 0x1000));
  step.watch.arm(other, {callers_cfa}, std::vector<CallWatch::Place>{{0x1000}});
  CHECK(step.plants.last == 2); // the first place is used again
  CHECK(step.plants.limits.at(0x1000) == other);
  step.watch.disarm();
  CHECK(step.plants.stops().empty());
  CHECK(step.watch.thread() == 0);
}

TEST_CASE("a place that cannot be written is no place", "[call_watch]") {
  Called step;
  step.plants.refused.insert(0x1000);
  step.watch.arm(stepping, {callers_cfa}, std::vector<CallWatch::Place>{{0x1000}, {0x2000}});
  CHECK(step.plants.stops() == std::set<Address>{0x2000});
  step.watch.disarm();
  CHECK(step.plants.stops().empty());
}

TEST_CASE("a method that goes on where it left is entered at any of its lines", "[call_watch]") {
  Called step;
  step.watch.arm(stepping, {callers_cfa}, std::vector<CallWatch::Place>{{0x1000, true}});
  CHECK(step.plants.stops() == std::set<Address>{0x1000});
  CHECK_FALSE(step.hit(stepping, 0x1000, callers_cfa - 0x100)); // for somebody else
  CHECK(step.plants.stops() == std::set<Address>{0x1000});
  CHECK_FALSE(step.hit(stepping, 0x1000));
  CHECK(step.plants.stops() == std::set<Address>{0x1000, 0x1010, 0x1020});
  CHECK(step.plants.limits.at(0x1020) == stepping);
  CHECK_FALSE(step.hit(other, 0x1020));
  CHECK(step.hit(stepping, 0x1020));
  step.watch.disarm();
  CHECK(step.plants.stops().empty());
  step.watch.arm(stepping, {callers_cfa}, std::vector<CallWatch::Place>{{0x1000}});
  CHECK(step.hit(stepping, 0x1000));
}

TEST_CASE("the caller of code without lines calls for the step, too", "[call_watch]") {
  constexpr Address outer_cfa = 0xF800;
  Called step;
  step.watch.arm(stepping, {callers_cfa, outer_cfa}, std::vector<CallWatch::Place>{{0x1000}});
  CHECK(step.hit(stepping, 0x1000, callers_cfa));
  CHECK(step.hit(stepping, 0x1000, outer_cfa));
  CHECK_FALSE(step.hit(stepping, 0x1000, outer_cfa + 0x100));
  step.watch.arm(stepping, {callers_cfa}, std::vector<CallWatch::Place>{{0x1000}});
  CHECK_FALSE(step.hit(stepping, 0x1000, outer_cfa));
}

TEST_CASE("a step over a call ends in a part of its own method alone", "[call_watch]") {
  constexpr CallWatch::Place part{.at = 0x3000, .any_line = false, .part = true};
  Called step;
  step.watch.arm(stepping, {callers_cfa}, std::vector<CallWatch::Place>{{0x1000}, {0x2000, true}, part});
  step.watch.steps_over();
  CHECK(step.plants.stops() == std::set<Address>{0x3000});
  CHECK_FALSE(step.hit(stepping, 0x1000));
  CHECK(step.hit(stepping, 0x3000));
  step.watch.add({0x4000});
  CHECK(step.plants.stops() == std::set<Address>{0x3000});
  step.watch.add({.at = 0x5000, .any_line = false, .part = true});
  CHECK(step.plants.stops() == std::set<Address>{0x3000, 0x5000});
  step.watch.arm(stepping, {callers_cfa}, std::vector<CallWatch::Place>{{0x1000}});
  CHECK(step.hit(stepping, 0x1000)); // a step into calls again
  step.watch.add({0x4000});
  CHECK(step.hit(stepping, 0x4000));
}

TEST_CASE("where a method goes on is told from where a step may end", "[call_watch]") {
  Called step;
  constexpr CallWatch::Place goes_on{.at = 0x1000, .any_line = true, .part = false};
  step.watch.arm(stepping, {callers_cfa}, std::vector<CallWatch::Place>{goes_on, {0x2000}});
  CHECK(step.watch.goes_on_at(0x1000));
  CHECK_FALSE(step.watch.goes_on_at(0x2000));
  CHECK_FALSE(step.hit(stepping, 0x1000));
  CHECK(step.watch.goes_on_at(0x1000));
  CHECK_FALSE(step.watch.goes_on_at(0x1010)); // a line of it
  step.watch.end_step();
  CHECK_FALSE(step.watch.goes_on_at(0x1000));
}
