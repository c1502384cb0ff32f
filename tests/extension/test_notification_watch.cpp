// The runtime tells of methods by itself: from the wish to the code that is ready.
#include "extension/breakpoints/notification_watch.h"
#include "tests/extension/fake_plants.h"
#include "tests/extension/watched_program.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::lldb_plugin;
using namespace clr::test;

namespace {

constexpr Address throw_place = 0x9000'0000;

struct Told {
  WatchedProgram program;
  FakePlants plants;
  Address table = 0, arguments = 0, throws_at = throw_place;
  bool writable = true;
  std::size_t writes = 0;
  NotificationWatch watch{plants,
                          {.throw_place = [this] { return throws_at; },
                           .write =
                               [this](Address address, std::span<const std::byte> bytes) {
                                 if (!writable) return false;
                                 ++writes;
                                 program.types.target.memory().write(address, bytes);
                                 return true;
                               }}};

  explicit Told(bool able = true) {
    TargetBuilder& target = program.types.target;
    table = target.memory().fresh(std::size_t{1001} * 24).address();
    if (able) target.variable("JITNotificationTable", table);
    target.variable("DacNotificationFlags", 0);
    arguments = target.memory().fresh(32).address();
    target.pointer_global("ClrNotificationArguments", arguments);
  }

  static std::vector<BreakpointWish> wish(const char* name) {
    return {{BreakpointWish::Kind::name, {name}, {}, 0}};
  }
  std::uint32_t rows(Runtime& runtime) const { return runtime.target()->read_u32(table + 16); }
  std::optional<Address> raise(Runtime& runtime, Address kind, Address first, Address second) {
    program.types.target.memory().at(arguments).pointer(kind).pointer(first).pointer(second);
    return watch.hit(runtime);
  }
};

} // namespace

TEST_CASE("the runtime is asked to tell of the methods that are wanted", "[notification_watch]") {
  Told told;
  Runtime runtime = told.program.runtime();
  CHECK_FALSE(told.watch.arm(runtime, Told::wish("Orders.Place"))); // nothing of it is precompiled
  CHECK(told.rows(runtime) == 3);
  CHECK(told.plants.stops() == std::set<Address>{throw_place});
  CHECK(told.watch.is_at(throw_place));
  CHECK_FALSE(told.watch.is_at(throw_place + 1));
  CHECK_FALSE(told.watch.tells()); // it was not heard yet

  CHECK_FALSE(told.raise(runtime, 0, 0, 0)); // an exception of the program's
  CHECK_FALSE(told.watch.tells());
  CHECK(told.raise(runtime, 8, 0x7000, 0x8000) == 0x8000);
  CHECK(told.watch.tells());
  CHECK(told.watch.hits() == 1);

  const std::size_t writes = told.writes;
  told.watch.arm(runtime, Told::wish("Orders.Place"));
  CHECK(told.writes == writes); // it knows that
  told.watch.arm(runtime, Told::wish("Replace"));
  CHECK(told.rows(runtime) == 1);
}

TEST_CASE("a module that is loaded later has methods that are wanted", "[notification_watch]") {
  Told told;
  Runtime runtime = told.program.runtime();
  told.watch.arm(runtime, Told::wish("Place"));
  CHECK(told.rows(runtime) == 5);
  CHECK_FALSE(told.raise(runtime, 1, told.program.late, 0));
  CHECK(told.watch.tells());
  CHECK(told.rows(runtime) == 6);
  CHECK_FALSE(told.raise(runtime, 1, 0x6666'0000, 0)); // no module
  CHECK(told.rows(runtime) == 6);
}

TEST_CASE("methods of modules that were unloaded are told of no more", "[notification_watch]") {
  Told told;
  Runtime before = told.program.runtime();
  told.watch.arm(before, Told::wish("Place"));
  told.raise(before, 1, told.program.late, 0);
  told.watch.arm(before, Told::wish("Place")); // its list of modules is from before
  CHECK(told.rows(before) == 6);
  told.program.types.app_domain({told.program.app, told.program.late});
  Runtime with = told.program.runtime();
  told.watch.arm(with, Told::wish("Place"));
  CHECK(told.rows(with) == 6);
  told.program.types.app_domain({told.program.app});
  Runtime without = told.program.runtime();
  told.watch.arm(without, Told::wish("Place"));
  CHECK(told.rows(without) == 5);
}

TEST_CASE("another module may be loaded where one was", "[notification_watch]") {
  Told told;
  RuntimeTypes& types = told.program.types;
  const auto load_another = [&] {
    MetadataBuilder metadata;
    metadata.assembly("another");
    metadata.type("Another", "Orders");
    metadata.method("Place", bytes_of({0, 0, 1}));
    metadata.method("Place", bytes_of({0, 0, 1}));
    const Address twin = types.module({.path = "/app/another.dll",
                                       .file_name = "another.dll",
                                       .simple_name = "another",
                                       .metadata = metadata.build()});
    const auto at = static_cast<Address>(types.target.offset("Module", "DynamicMetadata"));
    types.target.set(told.program.late, "Module", "DynamicMetadata",
                     types.target.target().read_pointer(twin + at));
  };
  SECTION("while the runtime tells") {
    Runtime before = told.program.runtime();
    told.watch.arm(before, Told::wish("Place"));
    told.raise(before, 1, told.program.late, 0);
    CHECK(told.rows(before) == 6);
    load_another();
    Runtime after = told.program.runtime();
    told.raise(after, 1, told.program.late, 0);
    CHECK(told.rows(after) == 7);
  }
  SECTION("while it does not") {
    types.app_domain({told.program.app, told.program.late});
    Runtime before = told.program.runtime();
    told.watch.arm(before, Told::wish("Place"));
    CHECK(told.rows(before) == 6);
    told.watch.disarm(before);
    load_another();
    Runtime after = told.program.runtime();
    told.watch.arm(after, Told::wish("Place"));
    CHECK(told.rows(after) == 7);
  }
}

TEST_CASE("a module whose methods cannot be told of ends it", "[notification_watch]") {
  Told told;
  Runtime runtime = told.program.runtime();
  told.watch.arm(runtime, Told::wish("Place"));
  told.raise(runtime, 1, told.program.edited, 0);
  CHECK_FALSE(told.watch.tells());
  CHECK(told.rows(runtime) == 0);
  CHECK(told.plants.stops().empty());
  // The same wish is not tried at each compilation.
  told.watch.arm(runtime, Told::wish("Place"));
  CHECK(told.rows(runtime) == 0);
  told.watch.arm(runtime, Told::wish("Replace"));
  CHECK(told.rows(runtime) == 1);
}

TEST_CASE("what is wanted is looked for anew when symbols may be found elsewhere", "[notification_watch]") {
  Told told;
  Runtime runtime = told.program.runtime();
  told.watch.arm(runtime, Told::wish("Place"));
  told.raise(runtime, 1, told.program.edited, 0);
  told.watch.arm(runtime, Told::wish("Place"));
  CHECK(told.rows(runtime) == 0);
  told.watch.forget();
  told.watch.arm(runtime, Told::wish("Place"));
  CHECK(told.rows(runtime) == 5);
}

TEST_CASE("a runtime that keeps silent is not waited for", "[notification_watch]") {
  Told told;
  Runtime runtime = told.program.runtime();
  CHECK_FALSE(told.watch.waits_to_hear());
  told.watch.arm(runtime, Told::wish("Place"));
  for (std::size_t i = 0; i < NotificationWatch::max_unheard; ++i) CHECK(told.watch.waits_to_hear());
  CHECK_FALSE(told.watch.waits_to_hear());
  told.raise(runtime, 8, 0x7000, 0x8000);
  CHECK(told.watch.waits_to_hear());
}

TEST_CASE("methods that nobody wants need not be waited for", "[notification_watch]") {
  Told told;
  RuntimeTypes& types = told.program.types;
  const std::vector<Address> orders =
      types.chunk(types.type({.module = told.program.app, .rid = 2}), {{.rid = 1}, {.rid = 2}});
  const Address type_of_late = types.type({.module = told.program.late, .rid = 2});
  const Address late = types.method(type_of_late, {.rid = 1});
  const Address made = types.method(type_of_late, {.rid = 0, .kind = MethodClassification::dynamic});
  Runtime runtime = told.program.runtime();
  CHECK_FALSE(told.watch.is_unwanted(runtime, orders[1])); // nothing is known yet
  told.watch.arm(runtime, Told::wish("Place"));
  CHECK_FALSE(told.watch.is_unwanted(runtime, orders[0]));
  CHECK(told.watch.is_unwanted(runtime, orders[1]));
  CHECK(told.watch.is_unwanted(runtime, made)); // no name and no line of a user's
  // Of a module of which the runtime should have told, and of what is no method, nobody knows.
  CHECK_FALSE(told.watch.is_unwanted(runtime, late));
  CHECK_FALSE(told.watch.is_unwanted(runtime, 0x7777'0000));
  // A runtime that keeps silent is not believed for long.
  for (std::size_t i = 0; i < NotificationWatch::max_unheard; ++i) told.watch.is_unwanted(runtime, orders[1]);
  CHECK_FALSE(told.watch.is_unwanted(runtime, orders[1]));
}

TEST_CASE("no notifications: patterns, old runtimes, no place, no writing", "[notification_watch]") {
  const auto tells = [](Told& told, const std::vector<BreakpointWish>& wishes) {
    Runtime runtime = told.program.runtime();
    told.watch.arm(runtime, wishes);
    told.raise(runtime, 8, 0x7000, 0x8000);
    return told.watch.tells();
  };
  Told sound;
  CHECK(tells(sound, Told::wish("Place")));
  Told pattern;
  CHECK_FALSE(tells(pattern, {{BreakpointWish::Kind::pattern, {"Pl.*"}, {}, 0}}));
  Told old(false);
  CHECK_FALSE(tells(old, Told::wish("Place")));
  Told nowhere;
  nowhere.throws_at = 0;
  CHECK_FALSE(tells(nowhere, Told::wish("Place")));
  Told refused;
  refused.plants.refused.insert(throw_place);
  CHECK_FALSE(tells(refused, Told::wish("Place")));
  Told kept;
  kept.writable = false;
  CHECK_FALSE(tells(kept, Told::wish("Place")));
  Told none;
  CHECK_FALSE(tells(none, {}));
}

TEST_CASE("the runtime tells nothing any more", "[notification_watch]") {
  Told told;
  Runtime runtime = told.program.runtime();
  told.watch.arm(runtime, Told::wish("Place"));
  told.raise(runtime, 8, 0x7000, 0x8000);
  told.watch.disarm(runtime);
  CHECK_FALSE(told.watch.tells());
  CHECK(told.rows(runtime) == 0);
  CHECK(told.plants.stops().empty());
  CHECK_FALSE(told.raise(runtime, 8, 0x7000, 0x8000));
  told.watch.arm(runtime, Told::wish("Place"));
  CHECK(told.watch.tells()); // it was heard before
  CHECK(told.rows(runtime) == 5);
}
