// Handles, and the queue of finalizers.
#include "core/heap/finalizer_queue.h"
#include "core/heap/gc_handles.h"
#include "tests/heap/heap_runtime.h"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace clr;
using namespace clr::test;

namespace {

GcHandles handles_of(HeapRuntime& runtime) {
  const Target target = runtime.target();
  return read_handles(target, read_gc_state(target, HeapRuntime::module));
}

FinalizerQueue queue_of(HeapRuntime& runtime) {
  const Target target = runtime.target();
  return read_finalizer_queue(target, read_gc_state(target, HeapRuntime::module));
}

// Memory behind another one, from `begin` on, that is one and the same byte.
class SameByte final : public MemoryReader {
public:
  SameByte(MemoryReader& memory, Address begin) : memory_(&memory), begin_(begin) {}
  std::size_t read_some(Address address, std::span<std::byte> out) override {
    if (address < begin_) return memory_->read_some(address, out);
    std::ranges::fill(out, std::byte{0x11});
    return out.size();
  }

private:
  MemoryReader* memory_;
  Address begin_;
};

} // namespace

TEST_CASE("handles are found by their kinds, with what dependent ones keep alive", "[heap]") {
  for (const ByteOrder order : {ByteOrder::little, ByteOrder::big}) {
    HeapRuntime runtime({.pointer_size = 8, .byte_order = order});
    const Address strong = runtime.handle(2, 0x1000), pinned = runtime.handle(3, 0x2000);
    runtime.handle(2, 0); // free
    const Address weak = runtime.handle(1, 0x3000), pair = runtime.handle(6, 0x4000, 0x5000),
                  second = runtime.handle(2, 0x6000), unknown = runtime.handle(9, 0x7000);
    const GcHandles found = handles_of(runtime);
    CHECK(found.problems.empty());
    REQUIRE(found.handles.size() == 6);
    CHECK(found.handles[0].slot == strong);
    CHECK(found.handles[0].object == 0x1000);
    CHECK(found.handles[0].kind == GcHandleKind::strong);
    CHECK(found.handles[1].slot == second);
    CHECK(found.handles[2].slot == pinned);
    CHECK(to_string(found.handles[2].kind) == "pinned");
    CHECK(found.handles[3].slot == weak);
    CHECK(found.handles[4].slot == pair);
    CHECK(found.handles[4].object == 0x4000);
    CHECK(found.handles[4].dependent == 0x5000);
    CHECK(found.handles[3].dependent == 0);
    CHECK(found.handles[5].slot == unknown);
    CHECK(to_string(found.handles[5].kind) == "kind_9");
    CHECK(is_root(GcHandleKind::strong));
    CHECK(is_root(GcHandleKind::pinned));
    CHECK_FALSE(is_root(GcHandleKind::weak_long));
    CHECK_FALSE(is_root(GcHandleKind::dependent));
  }
}

TEST_CASE("blocks of handles that were never used need no memory", "[heap]") {
  HeapRuntime runtime({});
  runtime.handle(2, 0x1000);
  runtime.handle(3, 0x2000);
  runtime.memory.erase(runtime.handle_segment() + 4096 + 2 * 512, 65536 - 4096 - 2 * 512);
  CHECK(handles_of(runtime).handles.size() == 2);
  // The second block is used.
  runtime.memory.erase(runtime.handle_segment() + 4096 + 600, 8);
  const GcHandles found = handles_of(runtime);
  CHECK(found.handles.size() == 1);
  REQUIRE(found.problems.size() == 1);
  CHECK(found.problems[0].find("is not available") != std::string::npos);
}

TEST_CASE("tables of handles that lie cost themselves", "[heap]") {
  HeapRuntime runtime({});
  runtime.handle(2, 0x1000);
  runtime.handle(6, 0x1000, 0x2000);
  constexpr std::size_t next = 1920 + 6 * 13;
  SECTION("a segment of another table ends the list of tables") {
    runtime.set_word(runtime.handle_segment() + next + 8, 0x10);
    CHECK(handles_of(runtime).handles.empty());
  }
  SECTION("a loop") {
    runtime.set_word(runtime.handle_segment() + next, runtime.handle_segment());
    const GcHandles found = handles_of(runtime);
    CHECK(found.handles.size() == 2);
    REQUIRE(found.problems.size() == 1);
    CHECK(found.problems[0].find("without end") != std::string::npos);
  }
  SECTION("a segment that begins within another one") {
    runtime.set_word(runtime.handle_segment() + next, runtime.handle_segment() + 16);
    const GcHandles found = handles_of(runtime);
    CHECK(found.handles.size() == 2);
    REQUIRE(found.problems.size() == 1);
    CHECK(found.problems[0].find("at no whole 64 KB") != std::string::npos);
  }
  SECTION("a second block that does not exist") {
    runtime.memory.write_integer(runtime.handle_segment() + 1680 + 1, 200, 1);
    const GcHandles found = handles_of(runtime);
    CHECK(found.handles.size() == 1);
    REQUIRE(found.problems.size() == 1);
    CHECK(found.problems[0].find("without a second block") != std::string::npos);
  }
}

TEST_CASE("handles of 32-bit processes are refused", "[heap]") {
  HeapRuntime runtime({.pointer_size = 4});
  CHECK_THROWS_WITH(handles_of(runtime), Catch::Contains("32-bit"));
}

TEST_CASE("the finalizer queue has a part for each generation, and two of objects that are ready", "[heap]") {
  for (const unsigned heaps : {0u, 2u})
    for (const Platform platform : all_platforms()) {
      INFO(to_string(platform) << " " << heaps);
      HeapRuntime runtime(platform, true, heaps);
      runtime.finalizer_queue(0, {{{0x100}, {}, {0x200, 0x300}, {0x400}, {0x500}, {0x600}, {0x700, 0x800}}});
      const FinalizerQueue queue = queue_of(runtime);
      CHECK(queue.problems.empty());
      REQUIRE(queue.registered.size() == 5);
      CHECK(queue.registered[0].object == 0x100);
      CHECK(queue.registered[0].part == HeapPart::poh);
      CHECK(queue.registered[1].part == HeapPart::gen2);
      CHECK(queue.registered[2].object == 0x300);
      CHECK(queue.registered[3].part == HeapPart::gen1);
      CHECK(queue.registered[4].part == HeapPart::gen0);
      REQUIRE(queue.ready.size() == 3);
      CHECK(queue.ready[0].critical);
      CHECK(queue.ready[0].object == 0x600);
      CHECK_FALSE(queue.ready[2].critical);
      CHECK(queue.ready[2].object == 0x800);
    }
}

TEST_CASE("a finalizer queue whose pointers lie costs itself", "[heap]") {
  HeapRuntime runtime({});
  const Address queue = runtime.finalizer_queue(0, {{{0x100}, {}, {}, {}, {}, {}, {0x700}}});
  const auto broken = [&](std::size_t entry, Address value) {
    HeapRuntime copy({});
    const Address made = copy.finalizer_queue(0, {{{0x100}, {}, {}, {}, {}, {}, {0x700}}});
    copy.set_word(made + entry * 8, value);
    return queue_of(copy);
  };
  CHECK(queue != 0);
  for (const auto& [entry, value] :
       {std::pair<std::size_t, Address>{2, 0x10}, {6, ~Address{0} - 7}, {7, 0x10}, {8, 0}}) {
    INFO(entry);
    const FinalizerQueue found = broken(entry, value);
    REQUIRE(found.problems.size() == 1);
    CHECK(found.registered.size() + found.ready.size() == 0);
  }
}

TEST_CASE("there is room for so many handles, and a problem says that there are more", "[heap]") {
  GcHandles found;
  found.handles.resize(max_handles - 1);
  CHECK(found.add({.slot = 1}));
  CHECK_FALSE(found.cut);
  CHECK_FALSE(found.add({.slot = 2}));
  CHECK_FALSE(found.add({.slot = 3}));
  CHECK(found.cut);
  CHECK(found.handles.size() == max_handles);
  REQUIRE(found.problems.size() == 1);
  CHECK(found.problems[0] == "there are more than 4194304 handles; the others are left out");
}

TEST_CASE("heaps that claim one and the same finalizer queue have it once", "[heap]") {
  HeapRuntime runtime({}, true, 2);
  const Address first = runtime.finalizer_queue(0, {{{0x100}, {}, {}, {}, {}, {}, {0x700}}}),
                second = runtime.finalizer_queue(1, {{{0x200}, {}, {}, {}, {}, {}, {}}});
  CHECK(queue_of(runtime).registered.size() == 2);
  for (std::size_t i = 0; i < 9; ++i)
    runtime.set_word(second + i * 8, runtime.target().read_pointer(first + i * 8));
  const FinalizerQueue found = queue_of(runtime);
  CHECK(found.registered.size() == 1);
  CHECK(found.ready.size() == 1);
  REQUIRE(found.problems.size() == 1);
  CHECK(found.problems[0].find("in that of another heap") != std::string::npos);
}

TEST_CASE("of a finalizer queue without end the first objects are there, and a problem says so", "[heap]") {
  HeapRuntime runtime({});
  const Address queue = runtime.finalizer_queue(0, {{{0x100}, {}, {}, {}, {}, {}, {}}});
  constexpr Address begin = Address{1} << 40;
  for (std::size_t part = 0; part < 9; ++part) runtime.set_word(queue + part * 8, begin + 16); // 2 objects
  runtime.set_word(queue + 7 * 8, begin);
  runtime.set_word(queue + 6 * 8, begin + (Address{1} << 50));
  runtime.set_word(queue + 8 * 8, begin + (Address{1} << 50));
  SameByte memory(runtime.memory, begin);
  const Target target(memory, runtime.t.contract_descriptor(), Platform{});
  const FinalizerQueue found = read_finalizer_queue(target, read_gc_state(target, HeapRuntime::module));
  CHECK(found.registered.size() == 2);
  REQUIRE(found.ready.size() == max_ready);
  CHECK(found.ready.back().object == 0x1111'1111'1111'1111);
  REQUIRE(found.problems.size() == 1);
  CHECK(found.problems[0].find("objects of a part of a finalizer queue are left out") != std::string::npos);
}
