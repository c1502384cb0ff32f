// One row for each CPU that .NET runs on: the names and numbers by which file formats say for which CPU
// something is, and where the registers of a thread lie in a core. How to read the CPU's code and its stacks
// is core/isa's part.
#pragma once

#include "core/memory/platform.h"

#include <cstddef>
#include <span>

namespace clr {

// Types of dynamic ELF relocations, which each psABI numbers on its own. `relative` is 0 where they are not
// known.
struct ElfRelocationTypes {
  unsigned relative = 0, relative64 = 0, copy = 0, tls_descriptor = 0;
};

// The registers of struct elf_prstatus (NT_PRSTATUS), which hold as many words as user_regs_struct has
// members. Source: Linux arch/{x86,arm64}/include/uapi/asm/ptrace.h.
struct CoreNoteRegisters {
  // A word that is written when a core is made, where ThreadRegisters has no value for it.
  struct Constant {
    std::size_t slot = 0;
    std::uint64_t value = 0;
  };
  std::size_t slots = 0;                          // 0: the form is not known
  std::span<const std::uint8_t> slot_of_register; // by the index in ThreadRegisters::values
  std::span<const Constant> constants;            // the other slots that are not written as 0
};

struct CpuRow {
  Cpu cpu = Cpu::unknown;
  std::string_view name;            // the runtime's: "x64"
  unsigned pointer_size = 8;        // bytes
  unsigned elf_machine = 0;         // e_machine; 0 (EM_NONE): there are no such files
  std::uint16_t pe_machine = 0;     // Machine of the COFF header; 0: there are no such files
  std::uint32_t perf_map_token = 0; // PerfMapArchitectureToken of ReadyToRun perf maps; 0: none
  // First parts of LLVM's target triples; one that ends in '*' stands for all that begin so.
  std::span<const std::string_view> triples;
  ElfRelocationTypes relocations;
  CoreNoteRegisters core_registers;
};

// All rows, in the order of Cpu; the first is that of Cpu::unknown, named "unknown".
std::span<const CpuRow> cpu_table();
// The row of `cpu`; that of Cpu::unknown for a value that is none of the enumeration.
const CpuRow& cpu_row(Cpu cpu);

// The CPU with this number or name; Cpu::unknown for any other.
Cpu cpu_of_elf_machine(unsigned machine);
Cpu cpu_of_pe_machine(std::uint16_t machine);
// `name` is the first part of an LLVM target triple: "x86_64", "aarch64", "armv7l".
Cpu cpu_of_triple(std::string_view name);

} // namespace clr
