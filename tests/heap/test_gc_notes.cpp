#include "core/heap/gc_notes.h"
#include "tests/heap/heap_runtime.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

constexpr Platform narrow{.pointer_size = 4, .byte_order = ByteOrder::big};

// The collector's variables with those that a release of minor version `minor` adds.
Address longer_variables(HeapRuntime& h, unsigned minor) {
  const Address made = h.memory.allocate(42 * std::size_t{h.word});
  const Target view = h.target();
  for (unsigned i = 0; i < 36; ++i)
    h.set_word(made + i * h.word, view.read_pointer(h.variables + i * h.word));
  h.memory.at(made).u8(2).u8(static_cast<std::uint8_t>(minor));
  h.set_word(h.variables_slot, made);
  return made;
}

void write_failure(HeapRuntime& h, Address at, const std::array<Address, 9>& words) {
  // The first, the sixth and the last are ints.
  for (unsigned i = 0; i < words.size(); ++i)
    h.memory.write_integer(at + i * h.word, words[i], i == 0 || i == 5 || i == 8 ? 4 : h.word);
}

GcNotes notes_of(HeapRuntime& h) {
  const Target target = h.target();
  return read_gc_notes(target, read_gc_state(target, HeapRuntime::module));
}

} // namespace

TEST_CASE("what a workstation collector notes of itself", "[heap]") {
  for (const Platform& platform : {Platform{}, narrow}) {
    HeapRuntime h(platform);
    const Address variables = longer_variables(h, 4);
    CHECK(notes_of(h).failures.empty());
    CHECK(notes_of(h).reserved.size == 0);
    CHECK_FALSE(notes_of(h).adapts);

    const Address record = h.memory.allocate(9 * std::size_t{h.word});
    h.set_word(variables + 17 * h.word, record);
    write_failure(h, record, {0, 1, 2, 3, 4, 5, 6, 7, 1});
    CHECK(notes_of(h).failures.empty()); // reason 0: none was noted
    write_failure(h, record, {2, 80'000, 0, 0, 17, 3, 4096, 0, 1});
    const Address tables = h.memory.allocate(6 * std::size_t{h.word}), slot = h.memory.allocate(h.word);
    h.set_word(slot, tables);
    h.set_word(variables + 32 * h.word, slot);
    h.set_word(tables + h.word, 0x5000);
    h.set_word(tables + 3 * h.word, 0x2000'0000);
    h.set_word(tables + 4 * h.word, 0x2800'0000);
    const Address mode = h.memory.allocate(4);
    h.memory.write_integer(mode, 1, 4);
    h.set_word(variables + 41 * h.word, mode);

    const GcNotes notes = notes_of(h);
    CHECK(notes.problems.empty());
    REQUIRE(notes.failures.size() == 1);
    const GcFailure& failure = notes.failures.front();
    CHECK(failure.asked == 80'000);
    CHECK(failure.collection == 17);
    CHECK(failure.large);
    CHECK(failure_text(failure) == "the system gave no memory (committing 4096 bytes of a segment)");
    CHECK(notes.tables == MemoryRange{tables, 0x5000});
    CHECK(notes.reserved == MemoryRange{0x2000'0000, 0x800'0000});
    CHECK_FALSE(notes.adapts); // it has one heap
    // What is impossible is not believed.
    h.set_word(tables + 4 * h.word, 0x1000);
    CHECK(notes_of(h).reserved.size == 0);
  }
}

TEST_CASE("a collector without later variables does not say whether it adapts", "[heap]") {
  HeapRuntime h(Platform{}, true, 1);
  const Address variables = longer_variables(h, 1);
  h.set_word(variables + 41 * h.word, 0x10);
  CHECK_FALSE(notes_of(h).adapts);
  CHECK(notes_of(h).problems.empty());
  h.memory.at(variables + 1).u8(4);
  const GcNotes notes = notes_of(h);
  REQUIRE(notes.problems.size() == 1);
  CHECK(notes.problems.front().starts_with("whether the collector adapts its number of heaps: "));
}

TEST_CASE("each heap of a server collector has its own record of failures", "[heap]") {
  HeapRuntime h(Platform{}, true, 3);
  const Address variables = longer_variables(h, 4);
  const Target view = h.target();
  const Address fields = view.read_pointer(variables + 30 * 8);
  const Address heaps = view.read_pointer(view.read_pointer(variables + 23 * 8));
  CHECK(notes_of(h).failures.empty()); // this collector keeps none
  h.memory.write_integer(fields + 4 * 3, 64, 4);
  write_failure(h, view.read_pointer(heaps + 8) + 64, {6, 512, 0, 0, 9, 0, 0, 0, 0});
  const Address mode = h.memory.allocate(4);
  h.memory.write_integer(mode, 1, 4);
  h.set_word(variables + 41 * h.word, mode);
  const GcNotes notes = notes_of(h);
  CHECK(notes.adapts == true);
  h.memory.write_integer(mode, 0, 4);
  CHECK(notes_of(h).adapts == false);
  REQUIRE(notes.failures.size() == 1);
  CHECK(notes.failures.front().heap == 1);
  CHECK_FALSE(notes.failures.front().large);
  CHECK(failure_text(notes.failures.front()) == "collections freed nothing");
  CHECK(failure_text({.reason = 77, .system_call = 99, .refused = 5}) == "reason 77 (call 99, 5 bytes)");
}
