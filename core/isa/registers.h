// The registers of one frame as a value, with a mark for each register whether its value is known.
#pragma once

#include "core/isa/architecture.h"
#include "core/memory/process_image.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace clr {

// DWARF numbers, which the whole room uses. x64: 0..16 = rax rdx rcx rbx rsi rdi rbp rsp r8..r15 rip, 17..32
// = xmm0..xmm15. arm64: 0..30 = x0..x30, 31 = sp, 32 = pc, 64..95 = v0..v31. General registers are in the
// same order in ThreadRegisters::values. Source: System V ABI AMD64, figure 3.36; ARM IHI 0057 (DWARF for
// AArch64).
namespace x64_register {
constexpr unsigned rax = 0, rdx = 1, rcx = 2, rbx = 3, rsi = 4, rdi = 5, rbp = 6, rsp = 7, r8 = 8, r12 = 12,
                   r13 = 13, r14 = 14, r15 = 15, rip = 16, xmm0 = 17;
} // namespace x64_register
namespace arm64_register {
constexpr unsigned x0 = 0, x1 = 1, x19 = 19, x28 = 28, fp = 29, lr = 30, sp = 31, pc = 32, v0 = 64;
} // namespace arm64_register

// All that follow look the CPU up in the table of architectures and read nothing.

// Architecture::roles.
const RegisterRoles& register_roles(Cpu cpu);

// True for a register that a callee must preserve (x64: System V; arm64: AAPCS64). sp and pc are not among
// them.
bool is_callee_saved(Cpu cpu, unsigned reg);

// "rax", "x19", "fp", ...; empty for a number that the CPU does not have.
std::string_view register_name(Cpu cpu, unsigned reg);
// The same with the vector registers, which a RegisterContext does not hold: "xmm6", "v8". "register N" for
// any other number.
std::string saved_register_name(Cpu cpu, unsigned reg);
bool is_vector_register(Cpu cpu, unsigned reg);

// Numbers of DWARF for the JIT's numbers of general and of vector registers; nothing for a number that is
// not known.
std::optional<unsigned> dwarf_of_jit_register(Cpu cpu, std::uint32_t number);
std::optional<unsigned> dwarf_of_jit_vector_register(Cpu cpu, std::uint32_t number);

// A return address without its pointer authentication code (arm64); x64: unchanged.
Address strip_return_address(Cpu cpu, Address address);

class RegisterContext {
public:
  static constexpr unsigned max_registers = 33;

  RegisterContext() : RegisterContext(Cpu::unknown) {} // of no CPU: nothing is known
  explicit RegisterContext(Cpu cpu) : architecture_(&architecture_of(cpu)) {}

  const Architecture& architecture() const { return *architecture_; }
  Cpu cpu() const { return architecture_->cpu; }
  bool known(unsigned reg) const { return reg < max_registers && (known_ >> reg & 1) != 0; }
  // Nothing when the value is not known.
  std::optional<std::uint64_t> find(unsigned reg) const {
    return known(reg) ? std::optional(values_[reg]) : std::nullopt;
  }
  // Throws Error{register_unknown} "register NAME is not known".
  std::uint64_t get(unsigned reg) const {
    if (!known(reg)) throw_unknown(reg);
    return values_[reg];
  }
  // Throws Error{invalid_argument} for a number that the CPU does not have.
  void set(unsigned reg, std::uint64_t value) {
    if (reg >= architecture_->roles.count) throw_no_such(reg);
    values_[reg] = value;
    known_ |= std::uint64_t{1} << reg;
  }
  void forget(unsigned reg);
  // Forgets what a call may have destroyed: all but the callee-saved registers, pc and sp.
  void forget_volatile();

  std::optional<Address> pc() const { return find(architecture_->roles.pc); }
  std::optional<Address> sp() const { return find(architecture_->roles.sp); }
  std::optional<Address> fp() const { return find(architecture_->roles.fp); }
  void set_pc(Address value) { set(architecture_->roles.pc, value); }
  void set_sp(Address value) { set(architecture_->roles.sp, value); }
  void set_fp(Address value) { set(architecture_->roles.fp, value); }

  // Same CPU, same registers known, same values.
  friend bool operator==(const RegisterContext& a, const RegisterContext& b);

private:
  [[noreturn]] void throw_unknown(unsigned reg) const;
  [[noreturn]] void throw_no_such(unsigned reg) const;

  const Architecture* architecture_;
  std::uint64_t known_ = 0; // bit n: register n
  std::array<std::uint64_t, max_registers> values_{};
};

// The registers of a stopped thread; those that `registers` does not list are unknown. No reads.
RegisterContext context_of_thread(Cpu cpu, const ThreadRegisters& registers);

// A CONTEXT that the runtime saved in target memory.
struct ContextRecord {
  RegisterContext registers; // those whose group ContextFlags marks as present
  std::uint32_t flags = 0;   // ContextFlags as stored
  // The code was interrupted by a fault: pc is the instruction that failed.
  bool exception_active() const { return (flags & 0x0800'0000) != 0; }
  // arm64: pc is a return address.
  bool unwound_to_call() const { return (flags & 0x2000'0000) != 0; }
};

// Reads the CONTEXT at `address`. One read. Throws Error{memory_missing}; Error{corrupt} when the flags are
// not of this CPU; Error{unsupported_contract} for a CPU whose CONTEXT is not known. Source: dotnet/runtime
// src/coreclr/pal/inc/pal.h (CONTEXT), StackWalk.md.
ContextRecord read_context_record(MemoryReader& memory, Cpu cpu, Address address);

} // namespace clr
