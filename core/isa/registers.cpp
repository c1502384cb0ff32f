#include "core/isa/registers.h"

#include <fmt/format.h>

namespace clr {
namespace {

// Groups of registers that ContextFlags marks as present.
constexpr std::uint32_t control_flag = 1, integer_flag = 2;
constexpr std::size_t max_context_size = 1024;

constexpr std::uint64_t bit(unsigned reg) {
  return std::uint64_t{1} << reg;
}

} // namespace

const RegisterRoles& register_roles(Cpu cpu) {
  return architecture_of(cpu).roles;
}

bool is_callee_saved(Cpu cpu, unsigned reg) {
  return reg < RegisterContext::max_registers && (architecture_of(cpu).callee_saved & bit(reg)) != 0;
}

std::string_view register_name(Cpu cpu, unsigned reg) {
  const auto names = architecture_of(cpu).register_names;
  return reg < names.size() ? names[reg] : std::string_view();
}

std::string saved_register_name(Cpu cpu, unsigned reg) {
  if (const std::string_view name = register_name(cpu, reg); !name.empty()) return std::string(name);
  if (!is_vector_register(cpu, reg)) return fmt::format("register {}", reg);
  const VectorRegisters& vectors = architecture_of(cpu).vectors;
  return fmt::format("{}{}", vectors.prefix, reg - vectors.first);
}

bool is_vector_register(Cpu cpu, unsigned reg) {
  const VectorRegisters& vectors = architecture_of(cpu).vectors;
  return reg >= vectors.first && reg - vectors.first < vectors.count;
}

std::optional<unsigned> dwarf_of_jit_register(Cpu cpu, std::uint32_t number) {
  const auto numbers = architecture_of(cpu).jit.dwarf;
  return number < numbers.size() ? std::optional<unsigned>(numbers[number]) : std::nullopt;
}

std::optional<unsigned> dwarf_of_jit_vector_register(Cpu cpu, std::uint32_t number) {
  for (const JitRegisters::Vectors& vectors : architecture_of(cpu).jit.vectors)
    if (number >= vectors.first && number - vectors.first < vectors.count)
      return number - vectors.first + vectors.dwarf;
  return std::nullopt;
}

Address strip_return_address(Cpu cpu, Address address) {
  const auto strip = architecture_of(cpu).strip_code_pointer;
  return strip == nullptr ? address : strip(address);
}

void RegisterContext::forget(unsigned reg) {
  if (reg < max_registers) known_ &= ~bit(reg);
}

void RegisterContext::forget_volatile() {
  const RegisterRoles& roles = architecture_->roles;
  known_ &= architecture_->callee_saved | bit(roles.pc) | bit(roles.sp);
}

void RegisterContext::throw_unknown(unsigned reg) const {
  const std::string_view name = register_name(cpu(), reg);
  throw Error(ErrorKind::register_unknown, name.empty() ? fmt::format("register {} is not known", reg)
                                                        : fmt::format("register {} is not known", name));
}

void RegisterContext::throw_no_such(unsigned reg) const {
  throw Error(ErrorKind::invalid_argument,
              fmt::format("the CPU {} has no register {}", to_string(cpu()), reg));
}

bool operator==(const RegisterContext& a, const RegisterContext& b) {
  if (a.architecture_ != b.architecture_ || a.known_ != b.known_) return false;
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
  const ContextLayout& layout = architecture_of(cpu).context;
  if (layout.size == 0)
    throw Error(ErrorKind::unsupported_contract,
                fmt::format("saved contexts of the CPU {} are not supported", to_string(cpu)));
  // The runtime knows no CPU with such a record that is not little-endian.
  constexpr ByteOrder order = ByteOrder::little;
  std::array<std::byte, max_context_size> raw;
  const std::span<std::byte> record = std::span(raw).first(layout.size);
  memory.read(address, record);

  ContextRecord result;
  result.registers = RegisterContext(cpu);
  result.flags = load<std::uint32_t>(record.subspan(layout.flags_at), order);
  if ((result.flags & layout.cpu_flag) == 0)
    throw_corrupt(address, fmt::format("no register context of the CPU {}", to_string(cpu)));
  for (unsigned reg = 0; reg < layout.offsets.size(); ++reg) {
    const std::uint32_t group = (layout.control & bit(reg)) != 0 ? control_flag : integer_flag;
    if ((result.flags & group) == 0) continue;
    result.registers.set(reg, load<std::uint64_t>(record.subspan(layout.offsets[reg]), order));
  }
  return result;
}

} // namespace clr
