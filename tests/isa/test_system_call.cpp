// Whether a thread stands in the kernel, and whether it only gave up the processor.
#include "core/isa/system_call.h"
#include "tests/support/memory_builder.h"

#include <catch2/catch.hpp>

#include <initializer_list>

using namespace clr;
using namespace clr::test;

namespace {

struct Stop {
  Stop(Cpu of, std::initializer_list<unsigned> code) : cpu(of), pc(0x5000'0000 + code.size()) {
    memory.at(0x5000'0000).bytes(code);
  }
  std::optional<bool> in_kernel() { return stands_behind_system_call(memory, cpu, pc); }
  bool yields() { return stands_behind_yield(memory, cpu, pc); }

  MemoryBuilder memory;
  Cpu cpu;
  Address pc;
};

} // namespace

TEST_CASE("a thread stands behind the call of the system that it made", "[system_call]") {
  Stop x64(Cpu::x64, {0xb8, 0xca, 0, 0, 0, 0x0f, 0x05}),
      arm64(Cpu::arm64, {0xc8, 0x0c, 0x80, 0xd2, 1, 0, 0, 0xd4});
  CHECK(x64.in_kernel() == true);
  CHECK(arm64.in_kernel() == true);
  CHECK_FALSE(x64.yields());
  CHECK_FALSE(arm64.yields());
  CHECK(Stop(Cpu::x64, {0xb8, 24, 0, 0, 0, 0x90, 0x90}).in_kernel() == false);
  CHECK_FALSE(Stop(Cpu::unknown, {0x0f, 0x05}).in_kernel());
}

TEST_CASE("sched_yield is known by its number, which the instruction in front of the call sets",
          "[system_call]") {
  Stop x64(Cpu::x64, {0xb8, 24, 0, 0, 0, 0x0f, 0x05}),
      arm64(Cpu::arm64, {0x88, 0x0f, 0x80, 0xd2, 1, 0, 0, 0xd4});
  CHECK(x64.yields());
  CHECK(arm64.yields());
  // The same number, but no call; and memory that ends in front of the number.
  CHECK_FALSE(Stop(Cpu::x64, {0xb8, 24, 0, 0, 0, 0x90, 0x90}).yields());
  CHECK_FALSE(Stop(Cpu::arm64, {0x88, 0x0f, 0x80, 0xd2, 0, 0, 0, 0}).yields());
  CHECK_FALSE(Stop(Cpu::x64, {0x0f, 0x05}).yields());
  CHECK_FALSE(Stop(Cpu::arm64, {1, 0, 0, 0xd4}).yields());
  CHECK_FALSE(Stop(Cpu::unknown, {0xb8, 24, 0, 0, 0, 0x0f, 0x05}).yields());
}
