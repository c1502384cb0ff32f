// The bytes of a real stub of .NET 10 on x64.
#include "core/execution/call_counting_stub.h"
#include "tests/memory/sparse_memory.h"

#include <catch2/catch.hpp>

using namespace clr;

namespace {

constexpr Address stub = 0x7F00'0000'0018, target = 0x7F00'1234'5678;

std::vector<std::byte> real_stub() {
  std::vector<std::byte> out;
  for (const int value : {0x48, 0x8B, 0x05, 0xF9, 0x3F, 0, 0,    0x66, 0xFF, 0x08, 0x74, 0x06,
                          0xFF, 0x25, 0xF6, 0x3F, 0,    0, 0xFF, 0x25, 0xF8, 0x3F, 0,    0})
    out.push_back(static_cast<std::byte>(value));
  return out;
}

std::vector<std::byte> pointer(Address value) {
  std::vector<std::byte> out;
  for (unsigned i = 0; i < 8; ++i) out.push_back(static_cast<std::byte>(value >> 8 * i & 0xFF));
  return out;
}

} // namespace

TEST_CASE("a call counting stub leads to the code whose calls it counts", "[call_counting_stub]") {
  test::SparseMemory memory;
  memory.add(stub, real_stub());
  memory.add(stub + 18 + 0x3FF6, pointer(target));
  for (const Address instruction : {0, 7, 10, 12, 18}) {
    CAPTURE(instruction);
    CHECK(call_counting_target(memory, Cpu::x64, stub + instruction) == target);
  }
  CHECK_FALSE(call_counting_target(memory, Cpu::x64, stub + 1));
  CHECK_FALSE(call_counting_target(memory, Cpu::x64, stub + 24));
  CHECK_FALSE(call_counting_target(memory, Cpu::arm64, stub));
}

TEST_CASE("what only looks like a call counting stub is none", "[call_counting_stub]") {
  test::SparseMemory memory;
  auto bytes = real_stub();
  SECTION("other code") {
    bytes[9] = std::byte{0x09};
    memory.add(stub, bytes);
    memory.add(stub + 18 + 0x3FF6, pointer(target));
  }
  SECTION("its cell is missing") {
    memory.add(stub, bytes);
  }
  SECTION("it is cut") {
    bytes.resize(20);
    memory.add(stub, bytes);
  }
  CHECK_FALSE(call_counting_target(memory, Cpu::x64, stub));
}
