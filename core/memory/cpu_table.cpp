#include "core/memory/cpu_table.h"

#include <algorithm>
#include <array>
#include <elf.h>
#include <utility>

namespace clr {
namespace {

constexpr unsigned elf_loongarch = 258; // EM_LOONGARCH, which older elf.h lack

constexpr std::array<std::string_view, 2> x64_triples{"x86_64", "amd64"}, arm64_triples{"aarch64", "arm64"},
    arm_triples{"arm*", "thumb*"};
constexpr std::array<std::string_view, 4> x86_triples{"i386", "i486", "i586", "i686"};
constexpr std::array<std::string_view, 1> loongarch64_triples{"loongarch64"}, riscv64_triples{"riscv64"};

// user_regs_struct of x64 begins with r15.
constexpr std::array<std::uint8_t, 17> x64_slots{10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0, 16};
// No system call is under way (orig_rax); cs and ss of every 64-bit Linux program.
constexpr std::array<CoreNoteRegisters::Constant, 3> x64_constants{
    {{15, ~std::uint64_t{0}}, {17, 0x33}, {20, 0x2b}}};

// x0 to x30, sp, pc, pstate.
constexpr auto arm64_slots = [] {
  std::array<std::uint8_t, 34> slots{};
  for (std::size_t i = 0; i < slots.size(); ++i) slots[i] = static_cast<std::uint8_t>(i);
  return slots;
}();

constexpr std::array<CpuRow, 8> rows{{
    {.cpu = Cpu::unknown, .name = "unknown"},
    {.cpu = Cpu::x64,
     .name = "x64",
     .elf_machine = EM_X86_64,
     .pe_machine = 0x8664,
     .perf_map_token = 3,
     .triples = x64_triples,
     .relocations = {R_X86_64_RELATIVE, R_X86_64_RELATIVE64, R_X86_64_COPY, R_X86_64_TLSDESC},
     .core_registers = {.slots = 27, .slot_of_register = x64_slots, .constants = x64_constants}},
    {.cpu = Cpu::x86,
     .name = "x86",
     .pointer_size = 4,
     .elf_machine = EM_386,
     .pe_machine = 0x014c,
     .perf_map_token = 4,
     .triples = x86_triples,
     .relocations = {R_386_RELATIVE, R_386_RELATIVE, R_386_COPY, R_386_TLS_DESC}},
    {.cpu = Cpu::arm64,
     .name = "arm64",
     .elf_machine = EM_AARCH64,
     .pe_machine = 0xaa64,
     .perf_map_token = 2,
     .triples = arm64_triples,
     .relocations = {R_AARCH64_RELATIVE, R_AARCH64_RELATIVE, R_AARCH64_COPY, R_AARCH64_TLSDESC},
     .core_registers = {.slots = arm64_slots.size(), .slot_of_register = arm64_slots, .constants = {}}},
    {.cpu = Cpu::arm,
     .name = "arm",
     .pointer_size = 4,
     .elf_machine = EM_ARM,
     .pe_machine = 0x01c4,
     .perf_map_token = 1,
     .triples = arm_triples,
     .relocations = {R_ARM_RELATIVE, R_ARM_RELATIVE, R_ARM_COPY, R_ARM_TLS_DESC}},
    {.cpu = Cpu::loongarch64,
     .name = "loongarch64",
     .elf_machine = elf_loongarch,
     .pe_machine = 0x6264,
     .perf_map_token = 6,
     .triples = loongarch64_triples},
    {.cpu = Cpu::riscv64,
     .name = "riscv64",
     .elf_machine = EM_RISCV,
     .pe_machine = 0x5064,
     .perf_map_token = 5,
     .triples = riscv64_triples},
    {.cpu = Cpu::wasm, .name = "wasm", .pointer_size = 4},
}};

static_assert([] {
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].cpu != static_cast<Cpu>(i)) return false;
  return true;
}());

template<typename Number>
Cpu cpu_with(Number CpuRow::*member, Number number) {
  if (number == 0) return Cpu::unknown;
  const auto row = std::ranges::find(rows, number, member);
  return row == rows.end() ? Cpu::unknown : row->cpu;
}

bool fits_triple(std::string_view name, std::string_view pattern) {
  if (!pattern.ends_with('*')) return name == pattern;
  pattern.remove_suffix(1);
  return name.starts_with(pattern);
}

} // namespace

std::span<const CpuRow> cpu_table() {
  return rows;
}

const CpuRow& cpu_row(Cpu cpu) {
  const auto index = static_cast<std::size_t>(cpu);
  return rows[index < rows.size() ? index : 0];
}

Cpu cpu_of_elf_machine(unsigned machine) {
  return cpu_with(&CpuRow::elf_machine, machine);
}

Cpu cpu_of_pe_machine(std::uint16_t machine) {
  return cpu_with(&CpuRow::pe_machine, machine);
}

Cpu cpu_of_triple(std::string_view name) {
  // "arm64" begins with "arm": what a row names whole comes first.
  for (const bool whole : {true, false})
    for (const CpuRow& row : rows)
      for (const std::string_view pattern : row.triples)
        if (pattern.ends_with('*') != whole && fits_triple(name, pattern)) return row.cpu;
  return Cpu::unknown;
}

std::string_view to_string(Cpu cpu) {
  return cpu_row(cpu).name;
}

Cpu cpu_from_name(std::string_view name) {
  const auto row = std::ranges::find(rows, name, &CpuRow::name);
  return row == rows.end() ? Cpu::unknown : row->cpu;
}

} // namespace clr
