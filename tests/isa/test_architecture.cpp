#include "core/isa/architecture.h"
#include "core/isa/code_instructions.h"
#include "core/isa/code_reference.h"
#include "core/isa/frame_layout.h"
#include "core/isa/registers.h"
#include "core/isa/unwind_record.h"
#include "core/memory/cpu_table.h"
#include "tests/support/stack_memory.h"

#include <catch2/catch.hpp>

#include <set>

using namespace clr;
using test::StackMemory;

namespace {

// Every CPU, and a value that is none of the enumeration.
std::vector<Cpu> all_cpus() {
  std::vector<Cpu> cpus;
  for (const CpuRow& row : cpu_table()) cpus.push_back(row.cpu);
  cpus.push_back(static_cast<Cpu>(200));
  return cpus;
}

template<typename Call>
std::string refusal(ErrorKind kind, const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    CHECK(error.kind() == kind);
    return error.what();
  }
  return "not refused";
}

} // namespace

TEST_CASE("a CPU is what its value says", "[isa][architecture]") {
  for (const Cpu cpu : all_cpus()) {
    CAPTURE(static_cast<unsigned>(cpu));
    const Architecture& architecture = architecture_of(cpu);
    CHECK(architecture.cpu == cpu_row(cpu).cpu);
    CHECK(&architecture_of(cpu) == &architecture);
  }
  CHECK(architecture_of(Cpu::x64).walks_stacks());
  CHECK(architecture_of(Cpu::arm64).walks_stacks());
  CHECK(architecture_of(Cpu::x64).returns_by_stack());
  CHECK_FALSE(architecture_of(Cpu::arm64).returns_by_stack());
}

// core/isa/README.md asks this of a CPU whose stacks are walked.
TEST_CASE("a CPU whose stacks are walked is known whole", "[isa][architecture]") {
  for (const Cpu cpu : all_cpus()) {
    const Architecture& architecture = architecture_of(cpu);
    if (!architecture.walks_stacks()) continue;
    CAPTURE(to_string(cpu));
    const RegisterRoles& roles = architecture.roles;
    CHECK(roles.count <= RegisterContext::max_registers);
    CHECK(architecture.register_names.size() == roles.count);
    const std::set<std::string_view> names(architecture.register_names.begin(),
                                           architecture.register_names.end());
    CHECK(names.size() == roles.count);
    for (const unsigned role : {roles.pc, roles.sp, roles.fp, roles.return_address})
      CHECK(role < roles.count);
    CHECK(is_callee_saved(cpu, roles.fp));
    CHECK_FALSE(is_callee_saved(cpu, roles.pc));
    CHECK_FALSE(is_callee_saved(cpu, roles.sp));
    CHECK(architecture.callee_saved >> roles.count == 0);

    // Every general register has a place in each record that holds all of them.
    CHECK(architecture.context.offsets.size() == roles.count);
    for (const std::uint16_t offset : architecture.context.offsets)
      CHECK(offset + 8u <= architecture.context.size);
    CHECK(architecture.context.flags_at + 4 <= architecture.context.size);
    CHECK(architecture.context.size <= 1024);
    CHECK(architecture.signal_frame.registers.size() == roles.count);
    CHECK(architecture.signal_frame.code.size() <= 16);
    const CoreNoteRegisters& note = cpu_row(cpu).core_registers;
    CHECK(note.slot_of_register.size() >= roles.count);
    for (const std::size_t slot : note.slot_of_register) CHECK(slot < note.slots);

    CHECK(architecture.jit.names.size() >= architecture.jit.dwarf.size());
    CHECK_FALSE(architecture.jit.dwarf.empty());
    for (const unsigned number : architecture.jit.dwarf) CHECK(number < roles.count);
    CHECK(architecture.unwind_data.kind != UnwindDataForm::Kind::unknown);
    CHECK(architecture.gc_info.kind != GcInfoForm::Kind::unknown);
    CHECK_FALSE(architecture.callee_saved_fields.empty());
    for (const CalleeSavedField& field : architecture.callee_saved_fields) CHECK(field.reg < roles.count);
    CHECK(architecture.call_counting_stub.code.size() <= 64);

    CHECK(architecture.managed_layout != nullptr);
    CHECK(architecture.unwind_records != nullptr);
    CHECK(architecture.function_length != nullptr);
    CHECK(architecture.list_instructions != nullptr);
    CHECK(architecture.code_reference != nullptr);
    CHECK(architecture.visit_own_addresses != nullptr);
    CHECK(architecture.follows_call != nullptr);
    CHECK(architecture.direct_call_target != nullptr);
  }
}

TEST_CASE("a CPU whose stacks are not walked is refused by its name", "[isa][architecture]") {
  StackMemory memory;
  for (Address at = 0; at < 0x600; at += 8) memory.u64(0x1000 + at, ~std::uint64_t{0});
  for (const Cpu cpu : all_cpus()) {
    const std::string name(to_string(cpu));
    CAPTURE(name);
    // Never a crash, whatever the number.
    for (const unsigned reg : {0u, 7u, 33u, 64u, 95u, 1000u, ~0u}) {
      CHECK(register_name(cpu, reg).empty() == (reg >= register_roles(cpu).count));
      CHECK_FALSE(saved_register_name(cpu, reg).empty());
      CHECK_FALSE((is_callee_saved(cpu, reg) && reg >= register_roles(cpu).count));
      dwarf_of_jit_register(cpu, reg);
      dwarf_of_jit_vector_register(cpu, reg);
    }
    CHECK(strip_return_address(cpu, 0x1234'5678) == 0x1234'5678);
    CodeReferences references(cpu);
    const std::array<std::byte, 4> code{};
    CHECK_FALSE(references.next(0x1000, code));
    const std::array<std::uint32_t, 1> begins{0};
    const CodeInstructions instructions(memory, cpu, 0x1000, 16, begins);
    if (architecture_of(cpu).walks_stacks()) continue;

    CHECK(instructions.between(0, 16).empty());
    CHECK_FALSE(instructions.known(0, 16));
    CHECK(register_roles(cpu).count == 0);
    CHECK_FALSE(is_vector_register(cpu, 17));
    CHECK_FALSE(dwarf_of_jit_register(cpu, 0));
    RegisterContext context(cpu);
    CHECK_FALSE(context.pc());
    CHECK_FALSE(context_of_thread(cpu, {.os_id = 1, .values = {1, 2, 3}}).sp());
    CHECK(refusal(ErrorKind::invalid_argument, [&] { context.set_pc(1); }) ==
          "the CPU " + name + " has no register 0");
    CHECK(refusal(ErrorKind::register_unknown, [&] { context.get(0); }) == "register 0 is not known");
    CHECK(refusal(ErrorKind::unsupported_contract, [&] { read_context_record(memory, cpu, 0x1000); }) ==
          "saved contexts of the CPU " + name + " are not supported");
    const std::string no_stacks = "stacks of the CPU " + name + " are not supported";
    CHECK(refusal(ErrorKind::unsupported_contract, [&] { architecture_with_stacks(cpu); }) == no_stacks);
    CHECK(refusal(ErrorKind::unsupported_contract, [&] { unwind_records(memory, cpu, 0x1000, 0); }) ==
          no_stacks);
  }
}

TEST_CASE("the JIT's numbers of registers as DWARF numbers", "[isa][architecture]") {
  CHECK(dwarf_of_jit_register(Cpu::x64, 1) == x64_register::rdx + 1); // rcx
  CHECK(dwarf_of_jit_register(Cpu::x64, 4) == x64_register::rsp);
  CHECK_FALSE(dwarf_of_jit_register(Cpu::x64, 16));
  CHECK(dwarf_of_jit_register(Cpu::arm64, 31) == arm64_register::sp);
  CHECK_FALSE(dwarf_of_jit_register(Cpu::arm64, 32));
  // Before .NET 10 the vector registers of x64 began at 16.
  CHECK(dwarf_of_jit_vector_register(Cpu::x64, 16) == 17u);
  CHECK(dwarf_of_jit_vector_register(Cpu::x64, 31) == 32u);
  CHECK(dwarf_of_jit_vector_register(Cpu::x64, 32) == 17u);
  CHECK(dwarf_of_jit_vector_register(Cpu::x64, 47) == 32u);
  CHECK_FALSE(dwarf_of_jit_vector_register(Cpu::x64, 48));
  CHECK_FALSE(dwarf_of_jit_vector_register(Cpu::x64, 15));
  CHECK(dwarf_of_jit_vector_register(Cpu::arm64, 63) == 95u);
  CHECK_FALSE(dwarf_of_jit_vector_register(Cpu::arm64, 64));
  CHECK(saved_register_name(Cpu::x64, 32) == "xmm15");
  CHECK(saved_register_name(Cpu::x64, 33) == "register 33");
  CHECK(saved_register_name(Cpu::arm64, 95) == "v31");
  CHECK(saved_register_name(Cpu::arm64, 29) == "fp");
}

TEST_CASE("x64 instructions of stubs push and pop", "[isa][architecture]") {
  const auto effect = architecture_of(Cpu::x64).stack_effect;
  const auto of = [&](std::initializer_list<unsigned> bytes) {
    std::vector<std::byte> code;
    for (const unsigned byte : bytes) code.push_back(static_cast<std::byte>(byte));
    return effect(code);
  };
  CHECK(of({0x50, 0xC3}).pushed == 8);  // push rax
  CHECK(of({0x41, 0x58}).pushed == -8); // pop r8
  CHECK(of({0x41, 0x58}).length == 2);
  CHECK(of({0x68, 1, 2, 3, 4}).pushed == 8); // push imm32
  CHECK(of({0xFF, 0x30}).pushed == 8);       // push [rax]
  CHECK(of({0xFF, 0xE0}).ends);              // jmp rax
  CHECK(of({0xC3}).ends);
  CHECK_FALSE(of({0x90}).ends);
  CHECK(of({0x06}).length == 0);
  CHECK(of({}).length == 0);
}
