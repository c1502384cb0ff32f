// The registers of one frame as a value, with a mark for each register whether its value is known.
#pragma once

#include "core/memory/process_image.h"

#include <array>
#include <optional>
#include <string_view>

namespace clr {

// DWARF numbers, which the whole room uses. x64: 0..16 = rax rdx rcx rbx rsi rdi rbp rsp r8..r15 rip.
// arm64: 0..30 = x0..x30, 31 = sp, 32 = pc. The same order as ThreadRegisters::values.
// Source: System V ABI AMD64, figure 3.36; ARM IHI 0057 (DWARF for AArch64).
namespace x64_register {
constexpr unsigned rax = 0, rdx = 1, rcx = 2, rbx = 3, rsi = 4, rdi = 5, rbp = 6, rsp = 7, r8 = 8, r12 = 12,
                   r13 = 13, r14 = 14, r15 = 15, rip = 16;
} // namespace x64_register
namespace arm64_register {
constexpr unsigned x0 = 0, x1 = 1, x19 = 19, x28 = 28, fp = 29, lr = 30, sp = 31, pc = 32;
} // namespace arm64_register

// Numbers of pc, sp, frame pointer and of the register that holds the return address on entry to a function
// (x64: pc itself, it lies on the stack). `count` is 0 for a CPU whose stacks we do not walk.
struct RegisterRoles {
  unsigned count = 0, pc = 0, sp = 0, fp = 0, return_address = 0;
};
RegisterRoles register_roles(Cpu cpu);

// True for a register that a callee must preserve (x64: System V; arm64: AAPCS64). sp and pc are not among
// them.
bool is_callee_saved(Cpu cpu, unsigned reg);

// "rax", "x19", "fp", ...; empty for a number that the CPU does not have.
std::string_view register_name(Cpu cpu, unsigned reg);

class RegisterContext {
public:
  static constexpr unsigned max_registers = 33;

  RegisterContext() = default; // of no CPU: nothing is known
  explicit RegisterContext(Cpu cpu) : cpu_(cpu) {}

  Cpu cpu() const { return cpu_; }
  bool known(unsigned reg) const { return reg < max_registers && (known_ >> reg & 1) != 0; }
  // Nothing when the value is not known.
  std::optional<std::uint64_t> find(unsigned reg) const;
  // Throws Error{memory_missing} "register NAME is not known".
  std::uint64_t get(unsigned reg) const;
  // Throws Error{invalid_argument} for a number that the CPU does not have.
  void set(unsigned reg, std::uint64_t value);
  void forget(unsigned reg);
  // Forgets what a call may have destroyed: all but the callee-saved registers, pc and sp.
  void forget_volatile();

  std::optional<Address> pc() const { return find(register_roles(cpu_).pc); }
  std::optional<Address> sp() const { return find(register_roles(cpu_).sp); }
  std::optional<Address> fp() const { return find(register_roles(cpu_).fp); }
  void set_pc(Address value) { set(register_roles(cpu_).pc, value); }
  void set_sp(Address value) { set(register_roles(cpu_).sp, value); }
  void set_fp(Address value) { set(register_roles(cpu_).fp, value); }

  // Same CPU, same registers known, same values.
  friend bool operator==(const RegisterContext& a, const RegisterContext& b);

private:
  Cpu cpu_ = Cpu::unknown;
  std::uint64_t known_ = 0; // bit n: register n
  std::array<std::uint64_t, max_registers> values_{};
};

// The registers of a stopped thread; those that `registers` does not list are unknown. No reads.
RegisterContext context_of_thread(Cpu cpu, const ThreadRegisters& registers);

// What the runtime saved in target memory as a CONTEXT (Windows-shaped on every OS).
struct ContextRecord {
  RegisterContext registers; // those whose group ContextFlags marks as present
  std::uint32_t flags = 0;   // ContextFlags as stored
  // The code was interrupted by a fault: pc is the instruction that failed.
  bool exception_active() const { return (flags & 0x0800'0000) != 0; }
  // arm64: pc is a return address.
  bool unwound_to_call() const { return (flags & 0x2000'0000) != 0; }
};

// Reads the CONTEXT at `address`. One read. Throws Error{memory_missing}; Error{corrupt} when the flags are
// not of this CPU; Error{unsupported_contract} for a CPU other than x64 and arm64. Source: dotnet/runtime
// src/coreclr/pal/inc/pal.h (CONTEXT), StackWalk.md.
ContextRecord read_context_record(MemoryReader& memory, Cpu cpu, Address address);

// A return address without its pointer authentication code (arm64); x64: unchanged.
Address strip_return_address(Cpu cpu, Address address);

} // namespace clr
