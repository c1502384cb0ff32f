// Locks of the framework as objects, and the table of who holds what.
#include "core/waits/lock_table.h"
#include "tests/objects/framework_types.h"
#include "tests/support/faults.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

constexpr std::uint32_t nobody = 0xffff'ffff;

struct Made {
  explicit Made(Platform platform = {}) : runtime(platform), types(runtime) {}

  LockState state(Address object, LockKind kind) {
    ObjectView view(runtime);
    InstanceReader reader(view.objects);
    return read_lock_state(reader, reader.of_object(object), object, kind);
  }

  ObjectRuntime runtime;
  FrameworkTypes types;
};

} // namespace

TEST_CASE("a Lock tells its owner by the system's number", "[lock_objects]") {
  for (const Platform& platform : all_platforms()) {
    INFO(to_string(platform));
    Made made(platform);
    const LockState held = made.state(
        made.types.make("Lock", {{"_state", 1 | 1 << 7}, {"_owningThreadId", 4711}, {"_recursionCount", 1}}),
        LockKind::lock);
    CHECK(held.held);
    CHECK(held.owner_os_id == 4711);
    CHECK(held.entries == 2);
    CHECK(held.waiters == 1);
    CHECK_FALSE(made.state(made.types.make("Lock", {}), LockKind::lock).held);
  }
}

TEST_CASE("a ReaderWriterLockSlim tells writer, upgrader and readers", "[lock_objects]") {
  Made made;
  const LockState free = made.state(
      made.types.make("ReaderWriterLockSlim",
                      {{"_writeLockOwnerId", nobody}, {"_upgradeLockOwnerId", nobody}, {"_owners", 2}}),
      LockKind::rwlock);
  CHECK_FALSE(free.held);
  CHECK(free.reader_count == 2);
  const LockState upgraded =
      made.state(made.types.make("ReaderWriterLockSlim", {{"_writeLockOwnerId", nobody},
                                                          {"_upgradeLockOwnerId", 5},
                                                          {"_numWriteWaiters", 3},
                                                          {"_owners", 2}}),
                 LockKind::rwlock);
  CHECK(upgraded.reader_count == 1);
  CHECK(upgraded.owner_managed_id == 5);
  CHECK(upgraded.upgradeable);
  CHECK(upgraded.waiters == 3);
}

TEST_CASE("a ReaderWriterLock tells writer, readers and those that wait", "[lock_objects]") {
  Made made;
  // 2 readers, 3 that want to read, 5 that want to write.
  const LockState read =
      made.state(made.types.make("ReaderWriterLock",
                                 {{"_writerID", nobody}, {"_lockID", 9}, {"_state", 2 | 3 << 13 | 5 << 23}}),
                 LockKind::rwlock);
  CHECK_FALSE(read.held);
  CHECK(read.old_rwlock);
  CHECK(read.lock_id == 9);
  CHECK(read.reader_count == 2);
  CHECK(read.waiters == 8);
  const LockState written = made.state(
      made.types.make("ReaderWriterLock", {{"_writerID", 7}, {"_writerLevel", 2}, {"_state", 0x1000}}),
      LockKind::rwlock);
  CHECK(written.held);
  CHECK(written.owner_managed_id == 7);
  CHECK(written.entries == 2);
  CHECK(written.reader_count == 0);
}

TEST_CASE("semaphores and barriers say how far they are", "[lock_objects]") {
  Made made;
  CHECK(made.state(made.types.make("SemaphoreSlim", {{"m_waitCount", 2}}), LockKind::semaphore).text ==
        "count 0");
  CHECK(
      made.state(made.types.make("Barrier", {{"_currentTotalCount", 1 << 16 | 3}}), LockKind::barrier).text ==
      "1 of 3 have arrived");
}

TEST_CASE("a lock object without the fields is a fault", "[lock_objects]") {
  Made made;
  const auto fault = fault_of([&] { made.state(made.types.make("Barrier", {}), LockKind::lock); });
  CHECK(fault->kind() == ErrorKind::unsupported_contract);
}

TEST_CASE("a list of readers that leads back is not followed without end", "[lock_objects]") {
  Made made;
  const Address first = made.types.make("ReaderWriterCount", {{"lockID", 1}, {"readercount", 1}});
  const Address second = made.types.make("ReaderWriterCount", {{"lockID", 2}, {"next", first}});
  ObjectView view(made.runtime);
  InstanceReader reader(view.objects);
  std::size_t left = 100;
  const std::vector<ReaderCount> counts = read_reader_counts(reader, second, left);
  REQUIRE(counts.size() == 2);
  CHECK(counts[1].readers == 1);
  CHECK(left == 98);
  made.types.set("ReaderWriterCount", made.runtime.fields_of(first), "next", second);
  ObjectView again(made.runtime);
  InstanceReader looped(again.objects);
  CHECK(fault_of([&] { read_reader_counts(looped, second, left); })->kind() == ErrorKind::corrupt);
  CHECK(left == 0); // what was looked at counts, though nothing came of it
}

TEST_CASE("owners are threads, or threads that are no more", "[lock_table]") {
  Made made;
  TargetBuilder& t = made.runtime.runtime.target;
  t.type("SyncTableEntry", {{"SyncBlock"}, {"Object"}});
  t.type("AwareLock", {{"State", Width::u32},
                       {"Recursion", Width::u32},
                       {"OwnerManagedId", Width::u32},
                       {"OwnerOsId"},
                       {"SyncIndex", Width::u32}});
  const Address table = t.memory().allocate(64 * t.size_of("SyncTableEntry"));
  t.variable("SyncTableEntries", table);
  const auto add = [&](std::uint32_t index, std::uint64_t state, std::uint32_t managed, std::uint64_t os) {
    const Address object = made.runtime.instance(made.runtime.object_type, 8);
    const Address block = t.record("AwareLock", {{"State", state},
                                                 {"Recursion", 1},
                                                 {"OwnerManagedId", managed},
                                                 {"OwnerOsId", os},
                                                 {"SyncIndex", index}});
    t.record_at(table + index * t.size_of("SyncTableEntry"), "SyncTableEntry",
                {{"SyncBlock", block}, {"Object", object}});
    return object;
  };
  const Address mine = add(1, 1 | 1 << 6, 2, 4711), lost = add(2, 1, 77, 12345), free = add(3, 0, 2, 4711);
  ThreadList threads;
  threads.threads.push_back({.address = 0x100, .managed_id = 2, .os_id = 4711});
  ObjectView view(made.runtime);
  const LockTable found =
      read_lock_table(view.objects, view.names, nullptr, {}, threads,
                      {{.os_id = 4711, .thread = &threads.threads[0], .frames = {}, .roots = {}}});
  REQUIRE(found.locks.size() == 2);
  CHECK_FALSE(found.with_heap);
  const LockRow* const held = found.find({mine, LockKind::monitor});
  REQUIRE(held != nullptr);
  CHECK(held->owner->os_id == 4711);
  CHECK(held->state.waiters == 1);
  const LockRow* const orphan = found.find({lost, LockKind::monitor});
  REQUIRE(orphan != nullptr);
  CHECK_FALSE(orphan->owner->os_id);
  CHECK(orphan->owner->managed_id == 77);
  CHECK(found.find({free, LockKind::monitor}) == nullptr);
  CHECK(found.waits.at(0).what == ThreadWait::What::unknown);
}

TEST_CASE("net11: the lock of an object is told as the object's, with the thread that owns it",
          "[lock_table]") {
  Made made;
  TargetBuilder& t = made.runtime.runtime.target;
  t.type("SyncTableEntry", {{"SyncBlock"}, {"Object"}});
  t.type("SyncBlock", {{"Lock"}, {"ThinLock", Width::u32}});
  const Address table = t.memory().allocate(64 * t.size_of("SyncTableEntry"));
  t.variable("SyncTableEntries", table);
  const auto add = [&](std::uint32_t index, Address lock, std::uint64_t thin) {
    const Address object = made.runtime.instance(made.runtime.object_type, 8);
    t.memory().write_integer(object - 4, 0x0800'0000 | index, 4);
    const Address handle = t.memory().allocate(8);
    t.memory().at(handle).pointer(lock);
    const Address block = t.record("SyncBlock", {{"Lock", handle}, {"ThinLock", thin}});
    t.record_at(table + index * t.size_of("SyncTableEntry"), "SyncTableEntry",
                {{"SyncBlock", block}, {"Object", object}});
    return object;
  };
  const Address lock =
      made.types.make("Lock#11", {{"_state", 1 | 2 << 7}, {"_owningThreadId", 2}, {"_recursionCount", 1}});
  const Address fat = add(1, lock, 0), thin = add(2, 0, 0x0000'0002),
                foreign = add(3, made.types.make("Barrier", {}), 0);
  ThreadList threads;
  threads.threads.push_back({.address = 0x100, .managed_id = 2, .os_id = 4711});
  ObjectView view(made.runtime);
  const LockTable found =
      read_lock_table(view.objects, view.names, nullptr, {}, threads,
                      {{.os_id = 4711, .thread = &threads.threads[0], .frames = {}, .roots = {}}});
  REQUIRE(found.locks.size() == 2);
  const LockRow* const row = found.find({fat, LockKind::monitor});
  REQUIRE(row != nullptr);
  CHECK(row->owner->os_id == 4711);
  CHECK(row->state.entries == 2);
  CHECK(row->state.waiters == 2);
  REQUIRE(found.find({thin, LockKind::monitor}) != nullptr);
  CHECK(found.find({thin, LockKind::monitor})->owner->os_id == 4711);
  CHECK(found.find({foreign, LockKind::monitor}) == nullptr);
  REQUIRE(found.problems.size() == 1);
  CHECK_THAT(found.problems[0], Catch::Contains("an object of another type"));
}

TEST_CASE("a wait of framework code that has no name is not called native code", "[lock_table]") {
  for (const bool named : {true, false}) {
    Made made({.pointer_size = 8, .cpu = Cpu::x64, .os = Os::unix_like});
    RuntimeTypes& types = made.runtime.runtime;
    MetadataBuilder metadata;
    metadata.type("System.Threading", "Primitive");
    metadata.method("Block", bytes_of({0, 0, 1}));
    const Address module = types.module({.path = "/fx/System.Threading.dll",
                                         .metadata = metadata.build(),
                                         .place = named ? MetadataPlace::flat : MetadataPlace::missing});
    const Address method = types.method(types.type({.module = module, .rid = 2}), {.rid = 1});
    // Behind a call of the system, called by that method.
    constexpr Address native = 0x5000'0010;
    types.target.memory().at(native - 2).bytes({0x0f, 0x05});
    std::vector<StackFrame> frames(2);
    frames[0].registers = RegisterContext(Cpu::x64);
    frames[0].registers.set_pc(native);
    frames[1].kind = StackFrameKind::managed;
    frames[1].code = CodeBlock{.method_desc = method};
    ThreadList threads;
    threads.threads.push_back({.address = 0x100, .managed_id = 2, .os_id = 4711, .cooperative = false});
    ObjectView view(made.runtime);
    const LockTable found =
        read_lock_table(view.objects, view.names, nullptr, {}, threads,
                        {{.os_id = 4711, .thread = &threads.threads[0], .frames = frames, .roots = {}}});
    INFO("named " << named);
    CHECK(found.waits.at(0).what == (named ? ThreadWait::What::native : ThreadWait::What::unknown));
    CHECK(found.waits.at(0).native == (named ? "System.Threading.Primitive.Block()" : ""));
  }
}
