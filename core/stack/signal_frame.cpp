#include "core/stack/signal_frame.h"

#include <array>

namespace clr {
namespace {

// mov rax, 15; syscall. mov x8, #139; svc #0.
constexpr std::array<std::uint8_t, 9> x64_trampoline{0x48, 0xC7, 0xC0, 0x0F, 0, 0, 0, 0x0F, 0x05};
constexpr std::array<std::uint8_t, 8> arm64_trampoline{0x68, 0x11, 0x80, 0xD2, 0x01, 0, 0, 0xD4};

// x64: when the handler has returned, rsp points to the ucontext, whose general registers begin at 40 in the
// order r8..r15 rdi rsi rbp rbx rdx rax rcx rsp rip.
constexpr std::int64_t x64_registers = 40;
constexpr std::array<unsigned, 17> x64_order{8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7, 16};
// arm64: sp points to siginfo (128 bytes) and ucontext, whose sigcontext lies at 176: fault address, x0..x30,
// sp, pc.
constexpr std::int64_t arm64_registers = 128 + 176 + 8;

template<std::size_t N>
bool code_is(MemoryReader& memory, Address pc, const std::array<std::uint8_t, N>& wanted) {
  std::array<std::byte, N> code;
  return memory.read_some(pc, code) == N && std::memcmp(code.data(), wanted.data(), N) == 0;
}

} // namespace

std::optional<FrameLayout> signal_frame_layout(MemoryReader& memory, Cpu cpu, Address pc) {
  const RegisterRoles roles = register_roles(cpu);
  FrameLayout layout;
  layout.interrupted = true;
  layout.cfa = {roles.sp, 0};
  const auto save = [&](unsigned reg, std::int64_t offset) {
    if (reg == roles.sp)
      layout.stack_pointer_at = RegisterOffset{roles.sp, offset};
    else
      layout.save(reg, {roles.sp, offset});
  };
  if (cpu == Cpu::x64 && code_is(memory, pc, x64_trampoline)) {
    for (std::size_t n = 0; n < x64_order.size(); ++n)
      save(x64_order[n], x64_registers + static_cast<std::int64_t>(n) * 8);
    return layout;
  }
  if (cpu == Cpu::arm64 && code_is(memory, pc, arm64_trampoline)) {
    for (unsigned reg = 0; reg < roles.count; ++reg) save(reg, arm64_registers + std::int64_t{reg} * 8);
    return layout;
  }
  return std::nullopt;
}

} // namespace clr
