#include "core/isa/registers.h"
#include "tests/support/stack_memory.h"

#include <catch2/catch.hpp>

using namespace clr;
using test::StackMemory;

TEST_CASE("registers are known only once they are set") {
  RegisterContext context(Cpu::x64);
  CHECK_FALSE(context.pc());
  CHECK_FALSE(context.find(3));
  CHECK_THROWS_WITH(context.get(x64_register::rbx), "register rbx is not known");
  context.set(x64_register::rbx, 0);
  CHECK(context.get(x64_register::rbx) == 0);
  context.forget(x64_register::rbx);
  CHECK_FALSE(context.known(x64_register::rbx));
  CHECK_THROWS_AS(context.set(17, 1), Error);
  CHECK_FALSE(context.known(1000));
  CHECK_THROWS_AS(RegisterContext().set(0, 1), Error);
}

TEST_CASE("a register that is not known is no missing memory, though scripts see one word for both") {
  try {
    RegisterContext(Cpu::arm64).get(arm64_register::lr);
    FAIL("an unknown register has a value");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::register_unknown);
    CHECK_FALSE(error.address());
    CHECK(std::string(error.what()) == "register lr is not known");
  }
  CHECK(to_string(ErrorKind::register_unknown) == "register_unknown");
}

TEST_CASE("roles and names of both CPUs") {
  RegisterContext x64(Cpu::x64), arm64(Cpu::arm64);
  x64.set_pc(1);
  x64.set_sp(2);
  x64.set_fp(3);
  CHECK(x64.get(16) == 1);
  CHECK(x64.get(7) == 2);
  CHECK(x64.get(6) == 3);
  arm64.set_pc(1);
  arm64.set_sp(2);
  arm64.set_fp(3);
  CHECK(arm64.get(32) == 1);
  CHECK(arm64.get(31) == 2);
  CHECK(arm64.get(29) == 3);
  CHECK(register_name(Cpu::x64, 5) == "rdi");
  CHECK(register_name(Cpu::x64, 16) == "rip");
  CHECK(register_name(Cpu::x64, 17).empty());
  CHECK(register_name(Cpu::arm64, 30) == "lr");
  CHECK(register_name(Cpu::arm64, 28) == "x28");
  CHECK(register_roles(Cpu::arm).count == 0);
  CHECK_FALSE(x64 == arm64);
  CHECK(x64 == x64);
}

TEST_CASE("a call keeps the callee-saved registers only") {
  for (const Cpu cpu : {Cpu::x64, Cpu::arm64}) {
    RegisterContext context(cpu);
    const RegisterRoles roles = register_roles(cpu);
    for (unsigned reg = 0; reg < roles.count; ++reg) context.set(reg, reg + 100);
    context.forget_volatile();
    for (unsigned reg = 0; reg < roles.count; ++reg) {
      CAPTURE(to_string(cpu), reg);
      CHECK(context.known(reg) == (is_callee_saved(cpu, reg) || reg == roles.pc || reg == roles.sp));
      if (context.known(reg)) CHECK(context.get(reg) == reg + 100);
    }
  }
  CHECK(is_callee_saved(Cpu::x64, 15));
  CHECK_FALSE(is_callee_saved(Cpu::x64, 4)); // rsi is volatile on Unix
  CHECK(is_callee_saved(Cpu::arm64, 29));
  CHECK_FALSE(is_callee_saved(Cpu::arm64, 18));
}

TEST_CASE("registers of a thread") {
  const RegisterContext whole = context_of_thread(
      Cpu::x64,
      {.os_id = 1, .values = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, .signal = 0});
  CHECK(whole.pc() == 16u);
  CHECK(whole.sp() == 7u);
  const RegisterContext part = context_of_thread(Cpu::arm64, {.os_id = 1, .values = {7, 8}, .signal = 0});
  CHECK(part.get(1) == 8);
  CHECK_FALSE(part.pc());
}

TEST_CASE("a saved CONTEXT of x64") {
  StackMemory memory;
  for (Address at = 0; at < 0x4D0; at += 8) memory.u64(0x1000 + at, at);
  memory.u32(0x1030, 0x0810'000B); // control, integer, floating point, exception active
  const ContextRecord record = read_context_record(memory, Cpu::x64, 0x1000);
  CHECK(memory.reads == 1);
  CHECK(record.exception_active());
  CHECK(record.registers.pc() == 0xF8u);
  CHECK(record.registers.sp() == 0x98u);
  CHECK(record.registers.fp() == 0xA0u);
  CHECK(record.registers.get(0) == 0x78);  // rax
  CHECK(record.registers.get(1) == 0x88);  // rdx
  CHECK(record.registers.get(2) == 0x80);  // rcx
  CHECK(record.registers.get(3) == 0x90);  // rbx
  CHECK(record.registers.get(4) == 0xA8);  // rsi
  CHECK(record.registers.get(5) == 0xB0);  // rdi
  CHECK(record.registers.get(15) == 0xF0); // r15
  memory.u32(0x1030, 0x0010'0001);         // control only
  const ContextRecord control = read_context_record(memory, Cpu::x64, 0x1000);
  CHECK(control.registers.pc() == 0xF8u);
  CHECK_FALSE(control.registers.fp());
  CHECK_FALSE(control.exception_active());
  memory.u32(0x1030, 0x0040'0003); // another CPU's
  CHECK_THROWS_AS(read_context_record(memory, Cpu::x64, 0x1000), Error);
  CHECK_THROWS_AS(read_context_record(memory, Cpu::arm, 0x1000), Error);
  memory.u32(0x1030, 0x0010'0003);
  memory.erase(0x10F8, 1);
  try {
    read_context_record(memory, Cpu::x64, 0x1000);
    FAIL("a torn record was read");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::memory_missing);
    CHECK(error.address() == 0x10F8u);
  }
}

TEST_CASE("a saved CONTEXT of arm64") {
  StackMemory memory;
  for (Address at = 0; at < 0x110; at += 8) memory.u64(0x1000 + at, at);
  memory.u32(0x1000, 0x2040'0003);
  const ContextRecord record = read_context_record(memory, Cpu::arm64, 0x1000);
  CHECK(record.unwound_to_call());
  CHECK(record.registers.get(0) == 0x8);
  CHECK(record.registers.get(28) == 0xE8);
  CHECK(record.registers.fp() == 0xF0u);
  CHECK(record.registers.get(30) == 0xF8);
  CHECK(record.registers.sp() == 0x100u);
  CHECK(record.registers.pc() == 0x108u);
  memory.u32(0x1000, 0x0040'0002);
  const ContextRecord integer = read_context_record(memory, Cpu::arm64, 0x1000);
  CHECK(integer.registers.known(28));
  CHECK_FALSE(integer.registers.known(29));
  CHECK_FALSE(integer.registers.pc());
}

TEST_CASE("signed return addresses of arm64") {
  CHECK(strip_return_address(Cpu::arm64, 0x0000'FFFF'1234'5678) == 0x0000'FFFF'1234'5678);
  CHECK(strip_return_address(Cpu::arm64, 0x2A55'FFFF'1234'5678) == 0x0000'FFFF'1234'5678);
  CHECK(strip_return_address(Cpu::arm64, 0xAAAA'8000'0000'1000) == 0xFFFF'8000'0000'1000);
  CHECK(strip_return_address(Cpu::x64, 0x2A55'FFFF'1234'5678) == 0x2A55'FFFF'1234'5678);
}
