// A stop: what is still known there, and what is to be done.
#include "extension/breakpoints/stop_verdict.h"
#include "extension/publish/publish_state.h"
#include "extension/session/session_age.h"

#include <catch2/catch.hpp>

#include <vector>

using namespace clr::lldb_plugin;
using Need = SessionAge::Need;
using Kind = ThreadStop::Kind;

namespace {
constexpr PublishLevel all = PublishLevel::everything;
}

TEST_CASE("a session holds for its stop", "[stop_states]") {
  SessionAge age;
  CHECK(age.for_stop(0) == Need::open);
  CHECK(age.for_short_run(0, true) == Need::open);
  age.opened(3);
  CHECK(age.for_stop(3) == Need::nothing);
  CHECK(age.for_stop(4) == Need::open);
  CHECK(age.for_short_run(3, true) == Need::nothing);
  CHECK(age.for_short_run(4, true) == Need::forget);
  CHECK(age.for_short_run(4, false) == Need::open); // a runtime may be there now
  CHECK(age.for_short_run(3, false) == Need::nothing);
  age.dropped();
  CHECK(age.for_stop(3) == Need::open);
}

TEST_CASE("a session that was brought along is not exact any more", "[stop_states]") {
  SessionAge age;
  age.opened(3);
  age.forgot(5);
  CHECK(age.for_short_run(5, true) == Need::nothing);
  CHECK(age.for_short_run(6, true) == Need::forget);
  CHECK(age.for_stop(5) == Need::open);
  CHECK(age.for_stop(3) == Need::open);
  age.opened(6);
  CHECK(age.for_stop(6) == Need::nothing);
}

TEST_CASE("who can be read, and who has ended", "[stop_states]") {
  CHECK(why_unreadable(ProcessLife::stopped).empty());
  CHECK(why_unreadable(ProcessLife::running) == "the process is running; stop it first (process interrupt)");
  for (const ProcessLife life : {ProcessLife::none, ProcessLife::exited, ProcessLife::detached}) {
    CHECK_FALSE(is_alive(life));
    CHECK_FALSE(why_unreadable(life).empty());
  }
  for (const ProcessLife life : {ProcessLife::running, ProcessLife::not_yet, ProcessLife::stopped})
    CHECK(is_alive(life));
}

TEST_CASE("each stop is published once", "[stop_states]") {
  PublishState state;
  CHECK_FALSE(state.begun());
  CHECK(state.wants_update(all, 0, 5));
  state.updated(all, 0, true, true, 5);
  CHECK(state.begun());
  CHECK_FALSE(state.wants_update(all, 0, 5));
  CHECK(state.wants_update(all, 1, 5));
  state.withdrawn();
  CHECK(state.wants_update(all, 0, 5));
}

TEST_CASE("a stop is published to the level that is needed", "[stop_states]") {
  PublishState state;
  state.updated(PublishLevel::stacks, 3, true, true, 5);
  CHECK(state.level_at(3) == PublishLevel::stacks);
  CHECK(state.level_at(4) == PublishLevel::nothing);
  CHECK_FALSE(state.wants_update(PublishLevel::stacks, 3, 5));
  CHECK(state.wants_update(all, 3, 5));
  state.updated(all, 3, true, true, 5);
  CHECK_FALSE(state.wants_update(PublishLevel::stacks, 3, 5));
  CHECK(state.level_at(3) == all);
  state.reconsidered();
  CHECK(state.wants_update(PublishLevel::stacks, 3, 5));
  CHECK(state.level_at(3) == PublishLevel::nothing);
  // Where there is no runtime one look is enough for both.
  state.updated(PublishLevel::stacks, 6, true, false, 5);
  CHECK_FALSE(state.wants_update(all, 6, 5));
}

TEST_CASE("the stacks of some threads are published one after the other", "[stop_states]") {
  using Threads = std::vector<std::uint64_t>;
  const auto stack = PublishLevel::stack, stacks = PublishLevel::stacks;
  PublishState state;
  state.updated(stack, 3, true, true, 5, Threads{7});
  CHECK(state.level_at(3) == stack);
  CHECK_FALSE(state.wants_update(stack, 3, 5, Threads{7}));
  CHECK(state.wants_update(stack, 3, 5, Threads{8}));
  CHECK(state.wants_update(stack, 3, 5, Threads{7, 8}));
  CHECK(state.wants_update(stacks, 3, 5));
  state.updated(stack, 3, true, true, 5, Threads{8});
  CHECK_FALSE(state.wants_update(stack, 3, 5, Threads{7, 8}));
  state.updated(stacks, 3, true, true, 5);
  CHECK_FALSE(state.wants_update(stack, 3, 5, Threads{9}));
  CHECK(state.wants_update(stack, 4, 5, Threads{7}));
  state.updated(stack, 4, true, true, 5, Threads{9});
  CHECK(state.wants_update(stack, 4, 5, Threads{7}));
}

TEST_CASE("what was interrupted is gone on with at the same stop", "[stop_states]") {
  PublishState state;
  state.updated(all, 7, false, true, 5);
  CHECK_FALSE(state.complete());
  CHECK(state.wants_update(all, 7, 5));
  CHECK(state.wants_update(PublishLevel::stacks, 7, 5));
  state.updated(all, 7, true, true, 5);
  CHECK(state.complete());
  CHECK_FALSE(state.wants_update(all, 7, 5));
  state.added(true);
  CHECK(state.complete());
  state.added(false);
  CHECK(state.wants_update(all, 7, 5));
  state.withdrawn();
  CHECK(state.complete());
}

TEST_CASE("without a runtime only new modules are worth a look", "[stop_states]") {
  PublishState state;
  state.updated(all, 1, true, false, 5);
  CHECK_FALSE(state.wants_update(all, 2, 5));
  CHECK(state.wants_update(all, 2, 6));
  state.updated(all, 2, true, false, 0);
  CHECK(state.wants_update(all, 3, 0)); // LLDB knows no module yet
  state.updated(all, 3, true, true, 6);
  CHECK(state.wants_update(all, 4, 6));
}

TEST_CASE("a stop is the user's unless all go on", "[stop_states]") {
  const auto never = [](std::uint64_t) { return false; };
  const auto always = [](std::uint64_t) { return true; };
  const ThreadStop none{.kind = Kind::none, .thread = 1};
  const ThreadStop passing{.kind = Kind::passing, .at_breakpoint = true, .thread = 2};
  const ThreadStop asked{.kind = Kind::asked, .at_breakpoint = true, .thread = 3};
  const ThreadStop gone{.kind = Kind::unknown, .at_breakpoint = true, .thread = 4, .pc = 0x40};
  const ThreadStop ignored{.kind = Kind::passing, .at_signal = true, .thread = 5};
  const ThreadStop signal{.kind = Kind::asked, .at_signal = true, .thread = 6};
  using Stops = std::vector<ThreadStop>;

  CHECK(nobody_asked(Stops{none, passing}, never));
  CHECK_FALSE(nobody_asked(Stops{none}, never)); // nobody knows why it stopped
  CHECK_FALSE(nobody_asked(Stops{passing, asked}, never));
  CHECK_FALSE(nobody_asked(Stops{gone}, never));
  CHECK(nobody_asked(Stops{gone}, always));
  CHECK(nobody_asked(Stops{gone, none}, [](std::uint64_t pc) { return pc == 0x40; }));
  CHECK_FALSE(nobody_asked(Stops{ignored}, never));
  CHECK_FALSE(nobody_asked({}, never));

  CHECK(thread_to_show(Stops{none, passing, asked, signal}) == 3);
  CHECK(thread_to_show(Stops{passing, none}) == 2); // the selected one stays
  CHECK(thread_to_show(Stops{passing, gone}) == 4);
  CHECK(thread_to_show(Stops{ignored, none, asked}) == 3); // a fault of another thread in the same moment
  CHECK(thread_to_show({}) == 0);

  using Threads = std::vector<std::uint64_t>;
  const ThreadStop other{.kind = Kind::asked, .at_signal = true, .thread = 7};
  CHECK(signals_alone(Stops{none, signal, passing}, never) == Threads{6});
  CHECK(signals_alone(Stops{signal, asked}, never).empty());
  CHECK(signals_alone(Stops{signal, passing, other}, never) == Threads{6, 7});
  CHECK(signals_alone(Stops{signal, asked, other}, never).empty());
  CHECK(signals_alone(Stops{signal, gone}, never).empty());
  // The other thread is at a place that was the plugin's.
  CHECK(signals_alone(Stops{signal, gone}, always) == Threads{6});
  CHECK(signals_alone(Stops{ignored, none}, never).empty());

  ThreadStop interrupt = signal;
  interrupt.at_interrupt = true;
  CHECK(thread_to_show(Stops{interrupt, passing, asked}) == 3); // it stands first, as it is selected
  CHECK(thread_to_show(Stops{interrupt, passing}) == 6);
  CHECK(asked_while_running(Stops{none, interrupt, passing}, never));
  CHECK(asked_while_running(Stops{interrupt, gone}, always));
  CHECK_FALSE(asked_while_running(Stops{interrupt, gone}, never));
  CHECK_FALSE(asked_while_running(Stops{none, interrupt}, never)); // the user's
  CHECK_FALSE(asked_while_running(Stops{interrupt, ignored}, never));
  CHECK_FALSE(asked_while_running(Stops{interrupt, passing, asked}, never));
  CHECK_FALSE(asked_while_running(Stops{signal, passing}, never));
  CHECK_FALSE(asked_while_running(Stops{none, passing}, never)); // see nobody_asked()
}
