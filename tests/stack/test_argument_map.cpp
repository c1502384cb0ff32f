// Maps of the arguments of import cells.
#include "core/stack/argument_map.h"
#include "tests/stack/runtime_builder.h"

using namespace clr;
using namespace clr::test;
using Found = std::vector<MappedArgument>;

namespace {

Found read(std::initializer_list<unsigned> bytes) {
  StackMemory memory;
  Address at = 0x1000;
  for (Address word = 0; word < 0x40; word += 8) memory.u64(at + word, 0);
  std::uint64_t value = 0;
  unsigned shift = 0;
  for (const unsigned byte : bytes) {
    value |= std::uint64_t{byte} << shift;
    shift += 8;
  }
  memory.u64(at, value);
  const Target target(memory, runtime_descriptor(Cpu::x64), {});
  return read_argument_map(target, at);
}

} // namespace

TEST_CASE("a map names the words that hold references", "[arguments]") {
  CHECK(read({0}).empty());
  CHECK(read({0x09}) == Found{{0, false}, {1, true}});
  // A reference, an interior one, then nothing up to the first word of the stack.
  CHECK(read({0xB9, 0x8F, 0x01}) == Found{{0, false}, {1, true}, {13, false}});
  // The last bit of the last byte is half of a token.
  CHECK(read({0x40}) == Found{{3, false}});
  // A generic context takes a word and is no reference.
  CHECK(read({0x47}) == Found{{1, false}});
}

TEST_CASE("a map without an end is refused", "[arguments]") {
  StackMemory memory;
  for (Address word = 0; word < max_map_bytes + 0x100; word += 8)
    memory.u64(0x1000 + word, 0x8080'8080'8080'8080);
  const Target target(memory, runtime_descriptor(Cpu::x64), {});
  CHECK_THROWS_WITH(read_argument_map(target, 0x1000), Catch::Contains("without an end"));
  // A skip of more words than there are.
  for (Address word = 0; word < 0x100; word += 8) memory.u64(0x1000 + word, 0xFFFF'FFFF'FFFF'FFFF);
  CHECK_THROWS_WITH(read_argument_map(target, 0x1000), Catch::Contains("a number too large"));
  // Memory that ends.
  CHECK_THROWS_AS(read_argument_map(target, 0x10'0000), Error);
}
