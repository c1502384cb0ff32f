// Arrays of synthetic heaps: how many elements they have, and how many of them hold nothing.
#include "core/heap/array_reader.h"
#include "tests/heap/heap_runtime.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

struct Arrays {
  explicit Arrays(Platform platform = {}) : runtime(platform), word(runtime.word) {
    // Characters lie in the last bytes of the size of an empty string.
    string = runtime.type(2 * word + 4 + 2, 2);
    runtime.t.variable("StringMethodTable", string);
  }

  // What is read of an object of `size` bytes.
  std::optional<ArrayCounts> read(Address object, std::uint64_t size, Address type) {
    const Target target = runtime.target();
    HeapTypes types(target);
    ArrayReader reader(types);
    return reader.counts_with_empty(object, size, type);
  }

  HeapRuntime runtime;
  unsigned word;
  Address string = 0;
};

} // namespace

TEST_CASE("arrays: the elements that hold nothing are counted") {
  for (const Platform platform : all_platforms()) {
    Arrays made(platform);
    HeapRuntime& runtime = made.runtime;
    const unsigned word = made.word;
    const Address references = runtime.type(3 * word, word), triples = runtime.type(3 * word, 12),
                  // Two dimensions: their lengths and lower bounds lie before the elements.
        grid = runtime.type(3 * word + 16, 8), plain = runtime.type(4 * word);
    const Address at = runtime.fresh_region();
    runtime.object(at, references, 5);
    runtime.set_word(at + 2 * word + 3 * word, at); // the fourth of five
    const auto of_references = made.read(at, 8 * word, references);
    REQUIRE(of_references);
    CHECK(of_references->elements == 5);
    CHECK(of_references->element_size == word);
    CHECK(of_references->empty == 4);
    CHECK(of_references->empty_bytes() == 4 * word);
    CHECK(of_references->whole);

    // One byte of a value is enough.
    const Address values = at + 0x100;
    runtime.object(values, triples, 4);
    runtime.memory.write_integer(values + 2 * word + 12 + 11, 1, 1);
    runtime.memory.write_integer(values + 2 * word + 36, 1, 1);
    CHECK(made.read(values, 2 * word + 48, triples)->empty == 2);

    const Address table = at + 0x200;
    runtime.object(table, grid, 6);
    runtime.memory.write_integer(table + 2 * word, 0x0000'0003'0000'0002, 8);
    runtime.memory.write_integer(table + 2 * word + 16 + 40, 7, 8); // the last one
    const auto of_grid = made.read(table, 2 * word + 16 + 48, grid);
    REQUIRE(of_grid);
    CHECK(of_grid->elements == 6);
    CHECK(of_grid->empty == 5);

    const Address none = at + 0x300;
    runtime.object(none, references, 0);
    CHECK(made.read(none, 3 * word, references)->elements == 0);
    // A string and an object without elements are no arrays.
    runtime.object(none, made.string, 3);
    CHECK_FALSE(made.read(none, 4 * word, made.string));
    runtime.object(none, plain);
    CHECK_FALSE(made.read(none, 4 * word, plain));
  }
}

TEST_CASE("arrays: without `empty` only the count is read") {
  Arrays made;
  const Address type = made.runtime.type(24, 8), at = made.runtime.fresh_region();
  made.runtime.object(at, type, 3);
  const Target target = made.runtime.target();
  HeapTypes types(target);
  const auto counts = ArrayReader(types).counts(at, 40, type);
  REQUIRE(counts);
  CHECK(counts->elements == 3);
  CHECK(counts->empty == 0);
}

TEST_CASE("arrays: a count that lies is none, and missing memory is said") {
  Arrays made;
  const Address type = made.runtime.type(24, 8), at = made.runtime.fresh_region();
  made.runtime.object(at, type, 4);
  CHECK_FALSE(made.read(at, 40, type)); // four elements take 48 bytes
  CHECK(made.read(at, 48, type)->empty == 4);
  made.runtime.memory.write_integer(at + 8, 0xffff'ffff, 4);
  CHECK_FALSE(made.read(at, 48, type));

  made.runtime.object(at, type, 0x1000);
  made.runtime.memory.erase(at + 0x2000, 0x1000);
  const auto torn = made.read(at, 16 + 0x8000, type);
  REQUIRE(torn);
  CHECK_FALSE(torn->whole);
  CHECK(torn->elements == 0x1000);
  CHECK(torn->empty == (0x2000 - 16) / 8);
  made.runtime.memory.erase(at, 16);
  CHECK_FALSE(made.read(at, 48, type));
}
