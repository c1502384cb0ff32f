#include "core/stack/call_site.h"
#include "tests/support/memory_builder.h"

#include <catch2/catch.hpp>

using namespace clr;
using namespace clr::test;

namespace {

// `bytes` end at the address that is asked for; nops stand before them.
bool behind(Cpu cpu, std::initializer_list<unsigned> bytes) {
  constexpr Address address = 0x40'1000;
  MemoryBuilder memory({.pointer_size = 8, .byte_order = ByteOrder::little, .cpu = cpu, .os = Os::unix_like});
  memory.at(address - 32).fill(64, 0x90);
  memory.at(address - bytes.size()).bytes(bytes);
  return is_behind_call(memory, cpu, address);
}

} // namespace

TEST_CASE("call sites: every form of x64's call, and what is none") {
  CHECK(behind(Cpu::x64, {0xE8, 1, 2, 3, 4}));
  CHECK(behind(Cpu::x64, {0xFF, 0x15, 1, 2, 3, 4}));
  CHECK(behind(Cpu::x64, {0x41, 0xFF, 0xD4}));
  CHECK(behind(Cpu::x64, {0xFF, 0x12}));
  CHECK(behind(Cpu::x64, {0xFF, 0x50, 0x18}));
  CHECK(behind(Cpu::x64, {0xFF, 0x93, 0, 1, 0, 0}));
  CHECK(behind(Cpu::x64, {0x41, 0xFF, 0x54, 0x24, 8}));
  CHECK_FALSE(behind(Cpu::x64, {}));
  CHECK_FALSE(behind(Cpu::x64, {0xFF, 0xE0}));             // jmp rax
  CHECK_FALSE(behind(Cpu::x64, {0xE9, 1, 2, 3, 4}));       // jmp rel32
  CHECK_FALSE(behind(Cpu::x64, {0xE8, 1, 2, 3, 4, 0x90})); // one instruction later
}

TEST_CASE("call sites: arm64's bl and blr") {
  CHECK(behind(Cpu::arm64, {0x05, 0x00, 0x00, 0x94}));       // bl
  CHECK(behind(Cpu::arm64, {0xFF, 0xFF, 0xFF, 0x97}));       // bl, back
  CHECK(behind(Cpu::arm64, {0x00, 0x01, 0x3F, 0xD6}));       // blr x8
  CHECK_FALSE(behind(Cpu::arm64, {0x00, 0x01, 0x1F, 0xD6})); // br x8
  CHECK_FALSE(behind(Cpu::arm64, {0x05, 0x00, 0x00, 0x14})); // b
  CHECK_FALSE(behind(Cpu::arm, {0x05, 0x00, 0x00, 0x94}));
}

TEST_CASE("call sites: missing code is behind nothing") {
  MemoryBuilder memory(
      {.pointer_size = 8, .byte_order = ByteOrder::little, .cpu = Cpu::x64, .os = Os::unix_like});
  for (const Cpu cpu : {Cpu::x64, Cpu::arm64})
    for (const Address address : {Address{0}, Address{3}, Address{0x1000}, ~Address{0}})
      CHECK_FALSE(is_behind_call(memory, cpu, address));
}
