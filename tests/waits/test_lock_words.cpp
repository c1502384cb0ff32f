// Locks in the word before an object, and sync blocks, among them some that are torn.
#include "core/waits/monitor_locks.h"
#include "tests/support/faults.h"
#include "tests/support/target_builder.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

// A table of sync blocks, as src/coreclr/vm/syncblk.h has it.
struct Blocks {
  explicit Blocks(Platform platform = {}, std::uint32_t entries = 64) : t(platform) {
    t.type("SyncTableEntry", {{"SyncBlock"}, {"Object"}});
    t.type("AwareLock", {{"State", Width::u32},
                         {"Recursion", Width::u32},
                         {"OwnerManagedId", Width::u32},
                         {"OwnerOsId"},
                         {"SyncIndex", Width::u32}});
    table = t.memory().allocate(entries * t.size_of("SyncTableEntry"));
    t.variable("SyncTableEntries", table);
  }

  Address entry(std::uint32_t index) const { return table + index * t.size_of("SyncTableEntry"); }
  Address add(std::uint32_t index, Address object, const FieldValues& values) {
    const Address block = t.record("AwareLock", values);
    t.set(block, "AwareLock", "SyncIndex", index);
    t.record_at(entry(index), "SyncTableEntry", {{"SyncBlock", block}, {"Object", object}});
    return block;
  }

  TargetBuilder t;
  Address table = 0;
};

} // namespace

TEST_CASE("the word before an object tells its lock", "[lock_words]") {
  CHECK(LockWord::of(0).form == LockWord::Form::free);
  const LockWord thin = LockWord::of(0x0002'0007);
  CHECK(thin.form == LockWord::Form::thin);
  CHECK(thin.owner_managed_id == 7);
  CHECK(thin.entries == 3);
  const LockWord block = LockWord::of(0x0800'0005);
  CHECK(block.form == LockWord::Form::sync_block);
  CHECK(block.index == 5);
  CHECK(LockWord::of(0x0c12'3456).form == LockWord::Form::hash_code);
  // A number 0 leads nowhere, and recursion without an owner is no lock.
  CHECK(LockWord::of(0x0800'0000).form == LockWord::Form::free);
  CHECK(LockWord::of(0x0003'0000).form == LockWord::Form::free);
}

TEST_CASE("a sync block tells owner, entries and waiters", "[lock_words]") {
  for (const Platform& platform : all_platforms()) {
    INFO(to_string(platform));
    Blocks made(platform);
    const Address block = made.add(
        3, 0x5000, {{"State", 1 | 2 << 6}, {"Recursion", 2}, {"OwnerManagedId", 9}, {"OwnerOsId", 4711}});
    const Target target = made.t.target();
    for (const MonitorState& state : {SyncBlocks(target).at(3), SyncBlocks(target).of_block(block)}) {
      CHECK(state.object == 0x5000);
      CHECK(state.held);
      CHECK(state.owner_managed_id == 9);
      CHECK(state.owner_os_id == 4711);
      CHECK(state.entries == 2);
      CHECK(state.waiters == 2);
    }
  }
}

TEST_CASE("an old owner of a lock that is free is not told", "[lock_words]") {
  Blocks made;
  made.add(1, 0x5000, {{"State", 1 << 6}, {"OwnerManagedId", 9}, {"OwnerOsId", 4711}});
  const Target target = made.t.target();
  const MonitorState state = SyncBlocks(target).at(1);
  CHECK_FALSE(state.held);
  CHECK(state.owner_os_id == 0);
  CHECK(state.waiters == 1);
}

TEST_CASE("a torn table of sync blocks costs what is torn", "[lock_words]") {
  Blocks made;
  made.add(1, 0x5000, {{"State", 1}, {"OwnerManagedId", 9}});
  const Address other = made.add(2, 0x6000, {{"State", 1}, {"OwnerManagedId", 9}});
  made.t.set(other, "AwareLock", "SyncIndex", 7); // another number
  made.add(4, 0x7001, {});                        // a free entry: a number of the next one
  made.t.record_at(made.entry(5), "SyncTableEntry", {{"SyncBlock", 0xdead'0000}, {"Object", 0x8000}});
  made.add(6, 0x9000, {{"State", 1}, {"OwnerManagedId", 3}});
  const Target target = made.t.target();
  const SyncBlocks blocks(target);
  CHECK(fault_of([&] { blocks.at(2); })->kind() == ErrorKind::corrupt);
  CHECK(fault_of([&] { blocks.at(4); })->kind() == ErrorKind::corrupt);
  CHECK(fault_of([&] { blocks.at(5); })->kind() == ErrorKind::memory_missing);
  CHECK(fault_of([&] { blocks.at(0); })->kind() == ErrorKind::corrupt);
  CHECK(fault_of([&] { blocks.of_block(other); })->kind() == ErrorKind::corrupt);
  std::string problem;
  const std::vector<MonitorState> all = blocks.all(problem);
  CHECK(problem.empty());
  REQUIRE(all.size() == 2);
  CHECK(all[0].object == 0x5000);
  CHECK(all[1].object == 0x9000);
}

TEST_CASE("no table of sync blocks is a problem, not an exception", "[lock_words]") {
  Blocks made;
  made.t.memory().write_integer(made.t.target().global("SyncTableEntries"), 0, 8);
  const Target target = made.t.target();
  std::string problem;
  CHECK(SyncBlocks(target).all(problem).empty());
  CHECK_FALSE(problem.empty());
}

namespace {

// A table of sync blocks of .NET 11, and objects whose words lead to them.
struct Net11Blocks {
  explicit Net11Blocks(const Platform& platform) : t(platform) {
    t.as_net11();
    t.type("SyncTableEntry", {{"Object"}, {"SyncBlock"}});
    t.type("SyncBlock", {{"ThinLock", Width::u32}, {"Lock"}});
    t.type("SyncBlockCache", {{"FreeSyncTableIndex", Width::u32}});
    table = t.memory().allocate(64 * t.size_of("SyncTableEntry"));
    t.variable("SyncTableEntries", table);
    cache = t.record("SyncBlockCache");
    t.variable("SyncBlockCache", cache);
  }
  Address add(std::uint32_t index, const FieldValues& values) {
    const Address object = t.memory().allocate(0x20) + 0x10;
    t.memory().write_integer(object - 4, 0x0800'0000 | index, 4);
    t.record_at(table + index * t.size_of("SyncTableEntry"), "SyncTableEntry",
                {{"SyncBlock", t.record("SyncBlock", values)}, {"Object", object}});
    t.set(cache, "SyncBlockCache", "FreeSyncTableIndex", index + 1);
    return object;
  }

  TargetBuilder t;
  Address table = 0, cache = 0;
};

} // namespace

TEST_CASE("net11: a sync block has the word of its object, or leads to a lock of the framework",
          "[lock_words]") {
  for (const Platform& platform : all_platforms()) {
    INFO(to_string(platform));
    Net11Blocks made(platform);
    const Address handle = made.t.memory().allocate(8), lock = 0x7000, empty = made.t.memory().allocate(8);
    made.t.memory().at(handle).pointer(lock);
    const Address thin = made.add(1, {{"ThinLock", 0x0001'0009}, {"Lock", empty}}),
                  fat = made.add(2, {{"ThinLock", 0x0001'0009}, {"Lock", handle}}), free = made.add(3, {});
    const Target target = made.t.target();
    const SyncBlocks blocks(target);
    CHECK(blocks.with_locks());
    CHECK(blocks.at(1).object == thin);
    CHECK(blocks.at(1).held);
    CHECK(blocks.at(1).owner_managed_id == 9);
    CHECK(blocks.at(1).entries == 2);
    CHECK(blocks.at(1).lock == 0);
    CHECK(blocks.at(2).lock == lock);
    CHECK_FALSE(blocks.at(2).held); // that is the lock's to say
    CHECK_FALSE(blocks.at(3).held);
    MonitorLocks monitors(blocks);
    CHECK(monitors.object_of(lock) == fat);
    CHECK(monitors.object_of(0x7008) == 0);
    CHECK(monitors.problem().empty());
    std::string problem;
    CHECK(blocks.all(problem).size() == 3);
    // The table ends where the runtime says, and a block whose object does not lead to it is an old one.
    made.t.memory().write_integer(free - 4, 0x0800'0001, 4);
    CHECK(blocks.all(problem).size() == 2);
    made.t.set(made.cache, "SyncBlockCache", "FreeSyncTableIndex", 2);
    CHECK(blocks.all(problem).size() == 1);
    CHECK(problem.empty());
  }
}

TEST_CASE("before .NET 11 no lock of the framework is that of an object", "[lock_words]") {
  Blocks made;
  made.add(1, 0x5000, {{"State", 1}, {"OwnerManagedId", 9}});
  const Target target = made.t.target();
  const SyncBlocks blocks(target);
  CHECK_FALSE(blocks.with_locks());
  CHECK(MonitorLocks(blocks).object_of(0x5000) == 0);
}
