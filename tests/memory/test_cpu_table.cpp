#include "core/memory/cpu_table.h"

#include "core/memory/core_writer.h"
#include "core/memory/elf_dynamic.h"
#include "core/memory/elf_relocations.h"
#include "tests/memory/sparse_memory.h"

#include <catch2/catch.hpp>

#include <elf.h>
#include <set>

using namespace clr;

TEST_CASE("every CPU has a row, and its numbers and names lead back to it", "[memory][cpu_table]") {
  std::set<std::string_view> names;
  for (const CpuRow& row : cpu_table()) {
    CAPTURE(row.name);
    CHECK(cpu_row(row.cpu).name == row.name);
    CHECK(to_string(row.cpu) == row.name);
    CHECK(cpu_from_name(row.name) == row.cpu);
    CHECK(names.insert(row.name).second);
    if (row.elf_machine != 0) CHECK(cpu_of_elf_machine(row.elf_machine) == row.cpu);
    if (row.pe_machine != 0) CHECK(cpu_of_pe_machine(row.pe_machine) == row.cpu);
    CHECK((row.pointer_size == 4 || row.pointer_size == 8));
  }
  CHECK(to_string(static_cast<Cpu>(200)) == "unknown");
  CHECK(cpu_from_name("z80") == Cpu::unknown);
  CHECK(cpu_of_elf_machine(0) == Cpu::unknown);
  CHECK(cpu_of_elf_machine(EM_S390) == Cpu::unknown);
  CHECK(cpu_of_pe_machine(0) == Cpu::unknown);
  CHECK(cpu_of_pe_machine(0xaa64) == Cpu::arm64);
  CHECK(cpu_row(Cpu::unknown).elf_machine == EM_NONE);
  CHECK(cpu_row(Cpu::wasm).elf_machine == EM_NONE);
  CHECK(cpu_row(Cpu::x64).elf_machine == EM_X86_64);
}

TEST_CASE("the CPU of a target triple", "[memory][cpu_table]") {
  CHECK(cpu_of_triple("x86_64") == Cpu::x64);
  CHECK(cpu_of_triple("amd64") == Cpu::x64);
  CHECK(cpu_of_triple("aarch64") == Cpu::arm64);
  CHECK(cpu_of_triple("arm64") == Cpu::arm64);
  CHECK(cpu_of_triple("armv7l") == Cpu::arm);
  CHECK(cpu_of_triple("thumbv7") == Cpu::arm);
  CHECK(cpu_of_triple("i686") == Cpu::x86);
  CHECK(cpu_of_triple("riscv64") == Cpu::riscv64);
  CHECK(cpu_of_triple("loongarch64") == Cpu::loongarch64);
  CHECK(cpu_of_triple("") == Cpu::unknown);
  CHECK(cpu_of_triple("x86_64h") == Cpu::unknown);
}

TEST_CASE("a CPU whose registers or relocations are not known is refused by its name",
          "[memory][cpu_table]") {
  for (const CpuRow& row : cpu_table()) {
    CAPTURE(row.name);
    const Platform platform{.pointer_size = row.pointer_size, .cpu = row.cpu};
    CoreNotes process;
    process.threads.push_back({.os_id = 1, .values = {1, 2, 3}});
    if (row.core_registers.slots == 0)
      CHECK_THROWS_WITH(make_notes(platform, process),
                        "thread notes cannot be made for " + std::string(row.name));
    else
      CHECK_NOTHROW(make_notes(platform, process));
    test::SparseMemory nothing;
    if (row.relocations.relative == 0)
      CHECK_THROWS_WITH(read_relocations(nothing, platform, ElfDynamic()),
                        "relocations of CPU " + std::string(row.name) + " are not known");
    else
      CHECK(read_relocations(nothing, platform, ElfDynamic()).relative.empty());
  }
}
