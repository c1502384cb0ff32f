// Which method lies at an address at which time.
#include "core/symbols/method_store.h"
#include "core/symbols/symbol_file.h"
#include "tests/symbols/colliding_keys.h"
#include "tests/symbols/net_trace_builder.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <random>

using namespace clr;
using namespace clr::test;

namespace {

constexpr auto load_event = CodeEventKind::load, unload_event = CodeEventKind::unload,
               rundown_end = CodeEventKind::rundown_end, rundown_start = CodeEventKind::rundown_start;

// Events that keep their texts.
class Events {
public:
  MethodEvent method(CodeEventKind kind, TraceTime time, Address start, std::uint32_t size,
                     std::string_view name, std::uint64_t id) {
    MethodEvent event;
    event.kind = kind;
    event.time = time;
    event.start = start;
    event.size = size;
    event.method_id = id;
    event.module_id = 0x8000;
    event.token = 0x0600'0001;
    event.flags = 8 | 4 << 7;
    event.named = !name.empty();
    event.type_name = utf16("T");
    event.method_name = utf16(name);
    event.signature = utf16("void  ()");
    return event;
  }
  ModuleEvent module(TraceTime time, std::uint64_t id, std::string_view path) {
    ModuleEvent event;
    event.time = time;
    event.module_id = id;
    event.il_path = utf16(path);
    return event;
  }

private:
  std::span<const std::byte> utf16(std::string_view text) {
    auto& kept = texts_[std::string(text)];
    if (kept.empty())
      for (const char c : text) {
        kept.push_back(static_cast<std::byte>(c));
        kept.push_back(std::byte{0});
      }
    return kept;
  }
  std::map<std::string, std::vector<std::byte>> texts_;
};

class Store {
public:
  Store& add(CodeEventKind kind, TraceTime time, Address start, std::uint32_t size, std::string_view name,
             std::uint64_t id) {
    CHECK_FALSE(builder_.add(events_.method(kind, time, start, size, name, id)));
    return *this;
  }
  Store& module(TraceTime time, std::uint64_t id, std::string_view path) {
    builder_.add(events_.module(time, id, path));
    return *this;
  }
  Store& unload_module(TraceTime time, std::uint64_t id) {
    ModuleEvent event = events_.module(time, id, "");
    event.kind = unload_event;
    builder_.add(event);
    return *this;
  }
  Store& rundown_module(TraceTime time, std::uint64_t id, std::string_view path) {
    ModuleEvent event = events_.module(time, id, path);
    event.kind = rundown_end;
    builder_.add(event);
    return *this;
  }
  MethodStoreBuilder& builder() { return builder_; }
  Events& events() { return events_; }
  MethodStore finish() { return builder_.finish(); }

private:
  Events events_;
  MethodStoreBuilder builder_;
};

// "name" or "-".
std::string name_at(const MethodStore& store, Address address, TraceTime time) {
  const MethodBody* const body = store.find(address, time);
  return body == nullptr ? "-" : std::string(body->name);
}

} // namespace

TEST_CASE("method store: an empty one knows nothing") {
  const MethodStore store = MethodStoreBuilder().finish();
  CHECK(store.find(0, 0) == nullptr);
  CHECK(store.find_last(0x1000) == nullptr);
  CHECK(store.describe(0x1abc, 0, {}) == "0x1abc");
  CHECK(store.bodies_at({}).empty());
}

TEST_CASE("method store: first, middle and last byte; gaps are nobody's") {
  Store s;
  s.add(load_event, 10, 0x1000, 0x40, "A", 1)
      .add(load_event, 11, 0x1040, 0x10, "B", 2)
      .add(load_event, 12, 0x2000, 1, "C", 3);
  const MethodStore store = s.finish();
  CHECK(name_at(store, 0xfff, 50) == "-");
  CHECK(name_at(store, 0x1000, 50) == "T.A()");
  CHECK(name_at(store, 0x1020, 50) == "T.A()");
  CHECK(name_at(store, 0x103f, 50) == "T.A()");
  CHECK(name_at(store, 0x1040, 50) == "T.B()");
  CHECK(name_at(store, 0x104f, 50) == "T.B()");
  CHECK(name_at(store, 0x1050, 50) == "-");
  CHECK(name_at(store, 0x2000, 50) == "T.C()");
  CHECK(name_at(store, 0x2001, 50) == "-");
  CHECK(name_at(store, 0, 50) == "-");
  CHECK(name_at(store, UINT64_MAX, 50) == "-");
  const MethodBody* const body = store.find(0x1020, 50);
  REQUIRE(body != nullptr);
  CHECK(body->start == 0x1000);
  CHECK(body->size == 0x40);
  CHECK(body->method_id == 1);
  CHECK(body->token == 0x0600'0001);
  CHECK(body->jitted);
  CHECK(body->tier == MethodEventTier::tier1);
  CHECK(body->loaded == 10);
  CHECK_FALSE(body->unloaded);
}

TEST_CASE("method store: code is there from its load to its unload") {
  Store s;
  s.add(load_event, 10, 0x1000, 0x40, "A", 1).add(unload_event, 20, 0x1000, 0x40, "A", 1);
  const MethodStore store = s.finish();
  CHECK(name_at(store, 0x1000, 9) == "-");
  CHECK(name_at(store, 0x1000, 10) == "T.A()");
  CHECK(name_at(store, 0x1000, 19) == "T.A()");
  CHECK(name_at(store, 0x1000, 20) == "-");
  CHECK(store.find_last(0x1000)->name == "T.A()");
  CHECK(store.find_last(0x1000)->unloaded == 20);
}

TEST_CASE("method store: an address that is used again means the last load before the time") {
  const bool with_unloads = GENERATE(true, false);
  Store s;
  for (unsigned i = 0; i < 50; ++i) {
    const std::string name = "M" + std::to_string(i);
    s.add(load_event, 100 + i * 10, 0x1000, 0x40 + i, name, 7);
    if (with_unloads) s.add(unload_event, 105 + i * 10, 0x1000, 0x40 + i, name, 7);
  }
  const MethodStore store = s.finish();
  CHECK(name_at(store, 0x1000, 99) == "-");
  for (unsigned i = 0; i < 50; ++i) {
    const std::string name = "T.M" + std::to_string(i) + "()";
    for (const Address address : {Address{0x1000}, Address{0x103f + i}}) {
      CHECK(name_at(store, address, 100 + i * 10) == name);
      CHECK(name_at(store, address, 104 + i * 10) == name);
      CHECK(name_at(store, address, 105 + i * 10) == (with_unloads ? "-" : name));
    }
    CHECK(name_at(store, 0x1040 + i, 100 + i * 10) == "-");
  }
  CHECK(store.find_last(0x1010)->name == "T.M49()");
  CHECK(store.find_last(0x1010)->unloaded.has_value() == with_unloads);
}

TEST_CASE("method store: code that only the rundown knows holds for the whole trace") {
  Store s;
  s.add(rundown_end, 1000, 0x1000, 0x40, "A", 1);
  const MethodStore store = s.finish();
  CHECK(name_at(store, 0x1000, 0) == "T.A()");
  CHECK(name_at(store, 0x1000, 999) == "T.A()");
  CHECK(name_at(store, 0x1000, 2000) == "T.A()");
  CHECK_FALSE(store.find(0x1000, 1)->loaded);
}

TEST_CASE("method store: code that only the rundown knows came after what was there before it") {
  Store s;
  s.add(load_event, 10, 0x1000, 0x40, "Gone", 1)
      .add(unload_event, 20, 0x1000, 0x40, "Gone", 1)
      .add(rundown_end, 1000, 0x1020, 0x40, "Now", 2);
  const MethodStore store = s.finish();
  CHECK(name_at(store, 0x1030, 5) == "-");
  CHECK(name_at(store, 0x1030, 15) == "T.Gone()");
  CHECK(name_at(store, 0x1030, 20) == "T.Now()");
  CHECK(name_at(store, 0x1010, 25) == "-");
  CHECK(store.find(0x1030, 500)->loaded == 20);
}

TEST_CASE("method store: a rundown tells of code whose load is known, and adds nothing") {
  const auto kind = GENERATE(rundown_start, rundown_end);
  Store s;
  s.add(load_event, 10, 0x1000, 0x40, "A", 1).add(kind, 100, 0x1000, 0x40, "A", 1);
  const MethodStore store = s.finish();
  CHECK(store.bodies().size() == 1);
  CHECK(store.bodies()[0].loaded == 10);
}

TEST_CASE("method store: code from before the collection that is unloaded during it") {
  Store s;
  s.add(unload_event, 50, 0x1000, 0x40, "A", 1).add(load_event, 60, 0x1000, 0x20, "B", 2);
  s.add(rundown_start, 5, 0x3000, 0x10, "S", 3).add(unload_event, 70, 0x3000, 0x10, "S", 3);
  const MethodStore store = s.finish();
  CHECK(name_at(store, 0x1000, 0) == "T.A()");
  CHECK(name_at(store, 0x1030, 49) == "T.A()");
  CHECK(name_at(store, 0x1000, 55) == "-");
  CHECK(name_at(store, 0x1000, 60) == "T.B()");
  CHECK(name_at(store, 0x1030, 60) == "-");
  CHECK(name_at(store, 0x3000, 1) == "T.S()");
  CHECK(name_at(store, 0x3000, 70) == "-");
}

// Dynamic methods at level 4, where the runtime tells their unloads only.
TEST_CASE("method store: code of which only the unloads are told, one after the other in one place") {
  Store s;
  s.add(unload_event, 10, 0x1000, 0x40, "A", 1).add(unload_event, 20, 0x1000, 0x60, "B", 1);
  s.add(unload_event, 30, 0x1000, 0x60, "B", 1).add(unload_event, 40, 0x1000, 0x40, "C", 2);
  const MethodStore store = s.finish();
  CHECK(store.bodies().size() == 4);
  CHECK(name_at(store, 0x1000, 0) == "T.A()");
  CHECK(name_at(store, 0x1000, 10) == "T.B()");
  CHECK(name_at(store, 0x1050, 25) == "T.B()");
  CHECK(name_at(store, 0x1000, 30) == "T.C()");
  CHECK(name_at(store, 0x1050, 30) == "-");
  CHECK(name_at(store, 0x1000, 40) == "-");
}

TEST_CASE("method store: the unload of unknown code ends no other") {
  Store s;
  s.add(load_event, 10, 0x1000, 0x40, "A", 1).add(unload_event, 20, 0x1020, 0x40, "X", 9);
  s.add(unload_event, 30, 0x1000, 0x40, "A", 1)
      .add(load_event, 40, 0x1000, 0x40, "B", 2)
      .add(unload_event, 50, 0x1000, 0x40, "A", 1);
  const MethodStore store = s.finish();
  CHECK(store.bodies().size() == 2);
  CHECK(name_at(store, 0x1020, 25) == "T.A()");
  CHECK(name_at(store, 0x1050, 15) == "-");
  CHECK(name_at(store, 0x1000, 35) == "-");
  CHECK(name_at(store, 0x1000, 60) == "T.B()");
}

TEST_CASE("method store: code over which other code is loaded has ended, all of it") {
  Store s;
  s.add(load_event, 10, 0x1000, 0x100, "Old", 1);
  s.add(load_event, 20, 0x1040, 0x20, "New", 2).add(unload_event, 30, 0x1040, 0x20, "New", 2);
  s.add(unload_event, 40, 0x1000, 0x100, "Old", 1); // told late
  const MethodStore store = s.finish();
  CHECK(name_at(store, 0x1000, 19) == "T.Old()");
  CHECK(name_at(store, 0x1000, 25) == "-");
  CHECK(name_at(store, 0x1050, 25) == "T.New()");
  CHECK(name_at(store, 0x1050, 35) == "-"); // Old does not come back
  CHECK(store.find_last(0x1000)->unloaded == 20);
}

TEST_CASE("method store: events may come in any order") {
  std::vector<std::tuple<CodeEventKind, TraceTime, std::string>> events{
      {load_event, 10, "A"},   {unload_event, 20, "A"}, {load_event, 30, "B"},
      {unload_event, 40, "B"}, {load_event, 50, "C"},   {rundown_end, 60, "C"}};
  do {
    Store s;
    for (const auto& [kind, time, name] : events) s.add(kind, time, 0x1000, 0x40, name, name == "B" ? 2 : 1);
    const MethodStore store = s.finish();
    REQUIRE(store.bodies().size() == 3);
    REQUIRE(name_at(store, 0x1000, 15) == "T.A()");
    REQUIRE(name_at(store, 0x1000, 25) == "-");
    REQUIRE(name_at(store, 0x1000, 35) == "T.B()");
    REQUIRE(name_at(store, 0x1000, 55) == "T.C()");
  } while (std::ranges::next_permutation(events).found);
}

TEST_CASE("method store: events at the same time take effect in their order") {
  Store s;
  s.add(load_event, 10, 0x1000, 0x40, "A", 1)
      .add(unload_event, 10, 0x1000, 0x40, "A", 1)
      .add(load_event, 10, 0x1000, 0x40, "B", 2);
  const MethodStore store = s.finish();
  CHECK(store.bodies().size() == 1);
  CHECK(name_at(store, 0x1000, 10) == "T.B()");
}

TEST_CASE(
    "method store: a MethodDesc and an address that are used again with another name are another method") {
  Store s;
  s.add(load_event, 10, 0x1000, 0x40, "dynamic1", 1).add(load_event, 20, 0x1000, 0x40, "dynamic2", 1);
  s.add(load_event, 30, 0x1000, 0x40, "dynamic2", 1); // told twice
  const MethodStore store = s.finish();
  CHECK(store.bodies().size() == 2);
  CHECK(name_at(store, 0x1000, 15) == "T.dynamic1()");
  CHECK(name_at(store, 0x1000, 35) == "T.dynamic2()");
  CHECK(store.find(0x1000, 35)->loaded == 20);
}

TEST_CASE("method store: events without names") {
  Store s;
  s.module(1, 0x8000, "/app/app.dll");
  s.add(load_event, 10, 0x1000, 0x40, "", 1); // never named
  s.add(load_event, 10, 0x2000, 0x40, "", 2)
      .add(rundown_end, 90, 0x2000, 0x40, "B", 2); // named by the rundown
  s.add(load_event, 10, 0x3000, 0x40, "C", 3).add(unload_event, 20, 0x3000, 0x40, "", 3);
  MethodEvent unknown = s.events().method(load_event, 10, 0x4000, 0x40, "", 4);
  unknown.module_id = 0x9000;
  CHECK_FALSE(s.builder().add(unknown));
  const MethodStore store = s.finish();
  CHECK(name_at(store, 0x1000, 50) == "app.dll!0x06000001");
  CHECK(name_at(store, 0x2000, 50) == "T.B()");
  CHECK(name_at(store, 0x3000, 15) == "T.C()");
  CHECK(name_at(store, 0x3000, 25) == "-");
  REQUIRE(store.find(0x4000, 50) != nullptr);
  CHECK(store.find(0x4000, 50)->name.empty());
  CHECK(store.describe(0x4010, 50, {}) == "0x4010");
}

TEST_CASE("method store: modules, whose addresses are used again, too") {
  Store s;
  s.module(5, 0x8000, "/app/first.dll").module(100, 0x8000, "C:\\app\\second.dll");
  s.add(load_event, 10, 0x1000, 0x40, "A", 1).add(unload_event, 20, 0x1000, 0x40, "A", 1);
  s.add(load_event, 110, 0x1000, 0x40, "B", 2).add(load_event, 1, 0x2000, 0x40, "C", 3);
  const MethodStore store = s.finish();
  CHECK(store.find(0x1000, 15)->module_path == "/app/first.dll");
  CHECK(store.find(0x1000, 115)->module_path == "C:\\app\\second.dll");
  CHECK(store.find(0x2000, 115)->module_path == "/app/first.dll"); // told after the method
}

TEST_CASE("method store: a module's unload ends its bodies") {
  Store s;
  s.add(load_event, 10, 0x1000, 0x40, "A", 1).add(load_event, 11, 0x2000, 0x40, "B", 2);
  MethodEvent other = s.events().method(load_event, 12, 0x3000, 0x40, "C", 3);
  other.module_id = 0x9000;
  CHECK_FALSE(s.builder().add(other));
  s.unload_module(20, 0x8000);
  s.add(load_event, 30, 0x1010, 0x40, "D", 4).unload_module(40, 0x7777);
  const MethodStore store = s.finish();
  CHECK(name_at(store, 0x1000, 19) == "T.A()");
  CHECK(name_at(store, 0x1000, 20) == "-");
  CHECK(name_at(store, 0x2000, 20) == "-");
  CHECK(name_at(store, 0x3000, 50) == "T.C()");
  CHECK(name_at(store, 0x1010, 35) == "T.D()"); // the module's address is used again
}

TEST_CASE("method store: modules that a rundown tells were not unloaded") {
  Store s;
  s.module(1, 0x8000, "/app/app.dll");
  s.add(load_event, 10, 0x1000, 0x40, "A", 1).unload_module(20, 0x8000); // a collectible assembly
  s.module(30, 0x8000, "/app/again.dll").add(load_event, 31, 0x2000, 0x40, "B", 2);
  s.unload_module(100, 0x8000); // the process ends
  s.rundown_module(110, 0x8000, "/app/again.dll").add(rundown_end, 111, 0x3000, 0x40, "C", 3);
  const MethodStore store = s.finish();
  CHECK(name_at(store, 0x1000, 15) == "T.A()");
  CHECK(name_at(store, 0x1000, 20) == "-");
  CHECK(name_at(store, 0x2000, 105) == "T.B()");
  CHECK_FALSE(store.find(0x2000, 105)->unloaded);
  CHECK(name_at(store, 0x3000, 105) == "T.C()");
  CHECK(store.find(0x1000, 15)->module_path == "/app/app.dll");
  CHECK(store.find(0x2000, 50)->module_path == "/app/again.dll");
}

TEST_CASE("method store: ranges that cannot be are refused") {
  Events events;
  MethodStoreBuilder builder;
  CHECK(builder.add(events.method(load_event, 1, 0x1000, 0, "A", 1)) == TraceFaultKind::impossible_code);
  CHECK(builder.add(events.method(load_event, 1, 0x1000, 0x8000'0000, "A", 1)) ==
        TraceFaultKind::impossible_code);
  CHECK(builder.add(events.method(load_event, 1, UINT64_MAX - 0xf, 0x10, "A", 1)) ==
        TraceFaultKind::impossible_code);
  CHECK_FALSE(builder.add(events.method(load_event, 1, UINT64_MAX - 0x10, 0x10, "Last", 1)));
  CHECK_FALSE(builder.add(events.method(load_event, 1, 0x1000, 0x7fff'ffff, "Huge", 2)));
  const MethodStore store = builder.finish();
  CHECK(store.bodies().size() == 2);
  CHECK(name_at(store, UINT64_MAX - 1, 5) == "T.Last()");
  CHECK(name_at(store, UINT64_MAX, 5) == "-");
  CHECK(name_at(store, 0x8000'0ffe, 5) == "T.Huge()");
}

TEST_CASE("method store: more events than are kept are refused, each kind by itself") {
  Events events;
  MethodStoreBuilder builder(std::make_shared<ByteRoom>(MethodStoreBuilder::max_text), 2);
  const auto module = [&](CodeEventKind kind) {
    ModuleEvent event = events.module(1, 0x8000, "/app/app.dll");
    event.kind = kind;
    return builder.add(event);
  };
  for (unsigned i = 0; i < 2; ++i) {
    CHECK_FALSE(builder.add(events.method(load_event, 10, 0x1000 + 0x100 * i, 0x40, "A", i)));
    CHECK_FALSE(module(load_event));
    CHECK_FALSE(module(unload_event));
  }
  CHECK(builder.add(events.method(load_event, 10, 0x3000, 0x40, "B", 9)) == TraceFaultKind::many_events);
  CHECK(builder.add(events.method(load_event, 10, 0x3000, 0, "B", 9)) == TraceFaultKind::impossible_code);
  CHECK(module(load_event) == TraceFaultKind::many_events);
  CHECK(module(rundown_end) == TraceFaultKind::many_events);
  CHECK(module(unload_event) == TraceFaultKind::many_events);
  CHECK(builder.finish().bodies().size() == 2);
}

TEST_CASE("method store: names and paths that are too long") {
  Store s;
  const std::string longest(4095, 'p'), longer(4096, 'p'), name(70'000, 'M');
  CHECK_FALSE(s.builder().add(s.events().module(1, 0x8000, longest)));
  CHECK(s.builder().add(s.events().module(1, 0x9000, longer)) == TraceFaultKind::lost_text);
  s.add(load_event, 10, 0x1000, 0x40, "", 1);
  MethodEvent other = s.events().method(load_event, 10, 0x2000, 0x40, "", 2);
  other.module_id = 0x9000;
  CHECK_FALSE(s.builder().add(other));
  CHECK(s.builder().add(s.events().method(load_event, 10, 0x3000, 0x40, name, 3)) ==
        TraceFaultKind::lost_text);
  const MethodStore store = s.finish();
  CHECK(name_at(store, 0x1000, 20) == longest + "!0x06000001");
  REQUIRE(store.find(0x2000, 20) != nullptr);
  CHECK(store.find(0x2000, 20)->name.empty());
  CHECK(store.find(0x2000, 20)->module_path.empty());
  CHECK(name_at(store, 0x3000, 20) == ("T." + name).substr(0, max_symbol_name));
  CHECK(store.lost_names() == 0);
}

TEST_CASE("method store: all names and paths together have a limit, which stores may share") {
  Events events;
  // For "T.A()", "m", and three times "m!0x06000001".
  const auto room = std::make_shared<ByteRoom>(5 + 1 + 3 * 12);
  MethodStoreBuilder first(room), second(room);
  CHECK_FALSE(first.add(events.method(load_event, 10, 0x1000, 0x40, "A", 1)));
  CHECK_FALSE(first.add(events.method(load_event, 10, 0x2000, 0x40, "A", 2)));
  CHECK_FALSE(second.add(events.module(1, 0x8000, "m")));
  for (std::uint32_t i = 0; i < 10; ++i) {
    MethodEvent unnamed = events.method(load_event, 10, 0x1000 + 0x100 * i, 0x40, "", i);
    unnamed.token += i;
    CHECK_FALSE(second.add(unnamed));
  }
  const MethodStore numbered = second.finish();
  CHECK(numbered.bodies().size() == 10);
  CHECK(numbered.lost_names() == 7);
  CHECK(name_at(numbered, 0x1200, 20) == "m!0x06000003");
  CHECK(name_at(numbered, 0x1300, 20) == "");

  // There is no room for the name of the code that takes the first one's place.
  CHECK(first.add(events.method(load_event, 20, 0x1000, 0x40, "Other", 1)) == TraceFaultKind::lost_text);
  const MethodStore store = first.finish();
  CHECK(store.bodies().size() == 3);
  CHECK(name_at(store, 0x1000, 15) == "T.A()");
  CHECK(name_at(store, 0x1000, 25) == "");
  CHECK(name_at(store, 0x2000, 25) == "T.A()");
  CHECK(store.describe(0x1000, 25, {}) == "0x1000");
}

TEST_CASE("method store: ids of modules that share a bucket of a table are no burden") {
  constexpr std::size_t count = 80'000;
  const std::uint64_t step = colliding_step(count);
  Events events;
  MethodStoreBuilder builder;
  MethodEvent event = events.method(load_event, 10, 0, 0x10, "A", 1);
  for (std::size_t i = 0; i < count; ++i) {
    event.start = 0x1000 + 0x10 * i;
    event.module_id = i * step;
    if (builder.add(event)) FAIL();
  }
  ModuleEvent unload = events.module(20, 7 * step, "");
  unload.kind = unload_event;
  CHECK_FALSE(builder.add(unload));
  const MethodStore store = builder.finish();
  CHECK(store.bodies().size() == count);
  CHECK(store.bodies_at({}).size() == count - 1);
  CHECK(name_at(store, 0x1000 + 0x10 * 7, 19) == "T.A()");
  CHECK(name_at(store, 0x1000 + 0x10 * 7, 20) == "-");
}

TEST_CASE("method store: native names") {
  const auto native = [](const char* name, std::uint64_t displacement) {
    return [=](Address) -> std::optional<NativeFunction> { return NativeFunction{name, displacement}; };
  };
  Store s;
  s.add(load_event, 10, 0x1000, 0x40, "A", 1);
  const MethodStore store = s.finish();
  CHECK(store.describe(0x1000, 20, native("never", 0)) == "T.A()");
  CHECK(store.describe(0x5000, 20, native("memcpy", 0)) == "memcpy");
  CHECK(store.describe(0x5000, 20, native("memcpy", 31)) == "memcpy+0x1f");
  CHECK(store.describe(0x5000, 20, native("JIT_New$##6001234", 16)) == "JIT_New+0x10");
  CHECK(store.describe(0x5000, 20, native("a$##b$##1", 0)) == "a$##b");
  CHECK(store.describe(0xABCDEF, 20, [](Address) { return std::optional<NativeFunction>(); }) == "0xabcdef");
  CHECK(store.describe(0xABCDEF, 20, {}) == "0xabcdef");
  CHECK(store.describe(0x1000, 5, native("memcpy", 1)) == "memcpy+0x1"); // not there yet
}

TEST_CASE("method store: what is there at a time, for a symbol table") {
  Store s;
  s.add(load_event, 10, 0x3000, 0x40, "A", 1).add(unload_event, 20, 0x3000, 0x40, "A", 1);
  s.add(load_event, 30, 0x3010, 0x40, "B", 2).add(rundown_end, 99, 0x1000, 0x10, "C", 3);
  const MethodStore store = s.finish();
  const auto names = [&](std::optional<TraceTime> time) {
    std::string all;
    Address end = 0;
    for (const MethodBody* body : store.bodies_at(time)) {
      CHECK(body->start >= end);
      end = body->start + body->size;
      all += std::string(body->name) + " ";
    }
    return all;
  };
  CHECK(names(5) == "T.C() ");
  CHECK(names(15) == "T.C() T.A() ");
  CHECK(names(25) == "T.C() ");
  CHECK(names({}) == "T.C() T.B() ");
}

TEST_CASE("method store: bodies that have ended are not looked at for each unload of unknown code") {
  // In one stretch of code 20,000 bodies, which end; then unloads of code over all of them, which nobody has
  // loaded and where other code is at the end.
  constexpr Address begin = 0x10'0000;
  constexpr std::uint32_t count = 20'000;
  Store store;
  for (std::uint32_t i = 0; i < count; ++i)
    store.add(load_event, 10, begin + 16 * i, 16, "Ended", i)
        .add(unload_event, 20, begin + 16 * i, 16, "", i);
  store.add(load_event, 30, begin + 16 * count, 16, "Stays", count);
  for (std::uint32_t i = 0; i < 3 * count; ++i)
    store.add(unload_event, 40, begin, 16 * (count + 1), "Unknown", 1'000'000 + i);
  const MethodStore made = store.finish();
  CHECK(made.bodies().size() == count + 1);
  CHECK(made.find(begin, 15) != nullptr);
  CHECK(made.find(begin, 25) == nullptr);
  CHECK(made.find_last(begin + 16 * count)->name == "T.Stays()");
  CHECK_FALSE(made.find_last(begin + 16 * count)->unloaded);
}

TEST_CASE("method store: names stay where they are when the store moves") {
  Store s;
  s.add(load_event, 10, 0x1000, 0x40, "A", 1);
  MethodStore first = s.finish();
  const std::string_view name = first.find(0x1000, 10)->name;
  const MethodStore second = std::move(first);
  CHECK(second.find(0x1000, 10)->name.data() == name.data());
  CHECK(name == "T.A()");
  CHECK(s.finish().bodies().empty()); // a builder that is finished begins anew
}

// Against a search through everything: the rules once more, as simply as they can be said.
TEST_CASE("method store: random loads and unloads") {
  std::mt19937 random(GENERATE(1u, 2u, 3u, 4u, 5u, 6u));
  struct Life {
    Address start;
    std::uint32_t size;
    TraceTime from, to;
    std::string name;
    bool told = false; // its unload
  };
  std::vector<Life> lives;
  Store s;
  TraceTime now = 10;
  for (unsigned i = 0; i < 400; ++i, now += 1 + random() % 3) {
    const Address start = 0x1000 + random() % 200 * 8;
    const auto size = static_cast<std::uint32_t>(1 + random() % 100);
    const std::string name = "M" + std::to_string(i);
    for (Life& life : lives)
      if (life.start < start + size && start < life.start + life.size) life.to = std::min(life.to, now);
    lives.push_back({start, size, now, UINT64_MAX, name});
    s.add(load_event, now, start, size, name, 1000 + i);
    if (Life& victim = lives[random() % lives.size()]; random() % 2 == 0 && !victim.told) {
      victim.told = true;
      s.add(unload_event, ++now, victim.start, victim.size, victim.name,
            1000 + std::stoull(victim.name.substr(1)));
      victim.to = std::min(victim.to, now);
    }
  }
  const MethodStore store = s.finish();
  for (unsigned i = 0; i < 20'000; ++i) {
    const Address address = 0x1000 + random() % 2000;
    const TraceTime time = random() % (now + 10);
    std::string expected = "-";
    for (const Life& life : lives)
      if (address >= life.start && address < life.start + life.size && time >= life.from && time < life.to)
        expected = "T." + life.name + "()";
    REQUIRE(name_at(store, address, time) == expected);
  }
}

TEST_CASE("method store: thousands of bodies in one place are no burden") {
  // Nested and shifted ranges: the worst for tables that store each body in each of its parts.
  Store s;
  constexpr unsigned count = 20'000;
  for (unsigned i = 0; i < count; ++i) s.add(load_event, 10 + i, 0x10'0000 - i, 2 * i + 1, "M", i);
  const MethodStore store = s.finish();
  CHECK(store.bodies().size() == count);
  for (unsigned i = 0; i < count; i += 97) {
    REQUIRE(store.find(0x10'0000, 10 + i)->size == 2 * i + 1);
    REQUIRE(store.find(0x10'0000 - i, 10 + i)->size == 2 * i + 1);
    if (i != 0) REQUIRE(store.find(0x10'0000 - i, 9 + i) == nullptr);
  }
}
