#include "core/memory/target_bytes.h"
#include "core/memory/target_pointer.h"
#include "tests/memory/sparse_memory.h"

#include <catch2/catch.hpp>

using namespace clr;

TEST_CASE("A pointer that may not be there") {
  const unsigned size = GENERATE(4U, 8U);
  const ByteOrder order = GENERATE(ByteOrder::little, ByteOrder::big);
  const Platform platform{.pointer_size = size, .byte_order = order};
  TargetBytes bytes(platform);
  bytes.word(0x12345678);
  test::SparseMemory memory;
  memory.add(0x1000, bytes.bytes());
  CHECK(pointer_at(memory, platform, 0x1000) == 0x12345678);
  CHECK_FALSE(pointer_at(memory, platform, 0x1001)); // the last byte is missing
  CHECK_FALSE(pointer_at(memory, platform, 0x2000));
  // Addresses of 32 bits wrap.
  CHECK(pointer_at(memory, platform, 0x1'0000'1000).has_value() == (size == 4));
}
