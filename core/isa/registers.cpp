#include "core/isa/registers.h"

#include <fmt/format.h>

namespace clr {
namespace {

constexpr std::array<std::string_view, 17> x64_names{"rax", "rdx", "rcx", "rbx", "rsi", "rdi",
                                                     "rbp", "rsp", "r8",  "r9",  "r10", "r11",
                                                     "r12", "r13", "r14", "r15", "rip"};
constexpr std::array<std::string_view, 33> arm64_names{
    "x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",  "x7",  "x8",  "x9",  "x10",
    "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21",
    "x22", "x23", "x24", "x25", "x26", "x27", "x28", "fp",  "lr",  "sp",  "pc"};

// Byte offsets in the x64 CONTEXT, by DWARF number: the record orders rax rcx rdx rbx rsp rbp rsi rdi r8..
// rip.
constexpr std::array<std::size_t, 17> x64_context_offsets{
    0x78, 0x88, 0x80, 0x90, 0xA8, 0xB0, 0xA0, 0x98, 0xB8, 0xC0, 0xC8, 0xD0, 0xD8, 0xE0, 0xE8, 0xF0, 0xF8};
constexpr std::size_t x64_flags_offset = 0x30, x64_context_bytes = 0x100;
constexpr std::size_t arm64_x0_offset = 8, arm64_context_bytes = 0x110;

constexpr std::uint32_t x64_context_flag = 0x0010'0000, arm64_context_flag = 0x0040'0000;
constexpr std::uint32_t control_flag = 1, integer_flag = 2;

} // namespace

RegisterRoles register_roles(Cpu cpu) {
  switch (cpu) {
  case Cpu::x64:
    return {.count = 17,
            .pc = x64_register::rip,
            .sp = x64_register::rsp,
            .fp = x64_register::rbp,
            .return_address = x64_register::rip};
  case Cpu::arm64:
    return {.count = 33,
            .pc = arm64_register::pc,
            .sp = arm64_register::sp,
            .fp = arm64_register::fp,
            .return_address = arm64_register::lr};
  default:
    return {};
  }
}

bool is_callee_saved(Cpu cpu, unsigned reg) {
  switch (cpu) {
  case Cpu::x64:
    return reg == x64_register::rbx || reg == x64_register::rbp ||
           (reg >= x64_register::r12 && reg <= x64_register::r15);
  case Cpu::arm64:
    return reg >= arm64_register::x19 && reg <= arm64_register::fp;
  default:
    return false;
  }
}

std::string_view register_name(Cpu cpu, unsigned reg) {
  if (reg >= register_roles(cpu).count) return {};
  return cpu == Cpu::x64 ? x64_names[reg] : arm64_names[reg];
}

std::optional<std::uint64_t> RegisterContext::find(unsigned reg) const {
  if (!known(reg)) return std::nullopt;
  return values_[reg];
}

std::uint64_t RegisterContext::get(unsigned reg) const {
  if (!known(reg)) {
    const std::string_view name = register_name(cpu_, reg);
    throw Error(ErrorKind::memory_missing, name.empty() ? fmt::format("register {} is not known", reg)
                                                        : fmt::format("register {} is not known", name));
  }
  return values_[reg];
}

void RegisterContext::set(unsigned reg, std::uint64_t value) {
  if (reg >= register_roles(cpu_).count)
    throw Error(ErrorKind::invalid_argument,
                fmt::format("the CPU {} has no register {}", to_string(cpu_), reg));
  values_[reg] = value;
  known_ |= std::uint64_t{1} << reg;
}

void RegisterContext::forget(unsigned reg) {
  if (reg < max_registers) known_ &= ~(std::uint64_t{1} << reg);
}

void RegisterContext::forget_volatile() {
  constexpr std::uint64_t x64_kept = 0xF000 | 1u << x64_register::rbx | 1u << x64_register::rbp |
                                     1u << x64_register::rsp | 1u << x64_register::rip;
  constexpr std::uint64_t arm64_kept =
      0x3FF8'0000 | std::uint64_t{1} << arm64_register::sp | std::uint64_t{1} << arm64_register::pc;
  known_ &= cpu_ == Cpu::x64 ? x64_kept : arm64_kept;
}

bool operator==(const RegisterContext& a, const RegisterContext& b) {
  if (a.cpu_ != b.cpu_ || a.known_ != b.known_) return false;
  for (unsigned reg = 0; reg < RegisterContext::max_registers; ++reg)
    if (a.known(reg) && a.values_[reg] != b.values_[reg]) return false;
  return true;
}

RegisterContext context_of_thread(Cpu cpu, const ThreadRegisters& registers) {
  RegisterContext context(cpu);
  const unsigned count = register_roles(cpu).count;
  for (unsigned reg = 0; reg < count && reg < registers.values.size(); ++reg)
    context.set(reg, registers.values[reg]);
  return context;
}

ContextRecord read_context_record(MemoryReader& memory, Cpu cpu, Address address) {
  if (cpu != Cpu::x64 && cpu != Cpu::arm64)
    throw Error(ErrorKind::unsupported_contract,
                fmt::format("saved contexts of the CPU {} are not supported", to_string(cpu)));
  const bool x64 = cpu == Cpu::x64;
  // Both CPUs run .NET in little-endian mode only.
  constexpr ByteOrder order = ByteOrder::little;
  std::array<std::byte, std::max(x64_context_bytes, arm64_context_bytes)> raw;
  const std::span<std::byte> record = std::span(raw).first(x64 ? x64_context_bytes : arm64_context_bytes);
  memory.read(address, record);

  ContextRecord result;
  result.registers = RegisterContext(cpu);
  result.flags = load<std::uint32_t>(record.subspan(x64 ? x64_flags_offset : 0), order);
  if ((result.flags & (x64 ? x64_context_flag : arm64_context_flag)) == 0)
    throw_corrupt(address, fmt::format("no register context of the CPU {}", to_string(cpu)));
  const RegisterRoles roles = register_roles(cpu);
  for (unsigned reg = 0; reg < roles.count; ++reg) {
    // CONTEXT_CONTROL holds pc and sp, on arm64 also fp and lr; CONTEXT_INTEGER the rest.
    const bool control = reg == roles.pc || reg == roles.sp ||
                         (!x64 && (reg == arm64_register::fp || reg == arm64_register::lr));
    if ((result.flags & (control ? control_flag : integer_flag)) == 0) continue;
    const std::size_t offset = x64 ? x64_context_offsets[reg] : arm64_x0_offset + 8 * reg;
    result.registers.set(reg, load<std::uint64_t>(record.subspan(offset), order));
  }
  return result;
}

Address strip_return_address(Cpu cpu, Address address) {
  if (cpu != Cpu::arm64) return address;
  // The code occupies the bits above the address space; bit 55 tells which half the address is of. Linux
  // gives programs 48 bits unless they ask for more, which the runtime does not.
  constexpr Address low = (Address{1} << 48) - 1;
  return (address >> 55 & 1) != 0 ? address | ~low : address & low;
}

} // namespace clr
