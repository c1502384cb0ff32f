// Instructions of x64 that are simple enough to be done by the debugger.
// Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, ENDBR64, MOV, NOP and PUSH.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace clr::lldb_plugin {

struct SimpleInstruction {
  enum class Kind : std::uint8_t {
    nothing, // a NOP, or the mark of a function that is called through pointers
    move,    // between general registers
    push,    // of a general register
  };
  Kind kind = Kind::nothing;
  std::size_t size = 0; // in bytes
  std::uint8_t from = 0,
               to = 0; // of a move or push, as the processor numbers them: rax, rcx, rdx, rbx, rsp...
  bool half = false;   // a move of 32 bits: the upper half of `to` becomes 0
};

// The longest of them has so many.
inline constexpr std::size_t simple_instruction_bytes = 4;

// That at the front of `code`; nothing for any other, or when `code` ends within it.
std::optional<SimpleInstruction> simple_instruction(std::span<const std::uint8_t> code);

// By the number in a SimpleInstruction.
inline constexpr std::array<const char*, 16> general_registers{"rax", "rcx", "rdx", "rbx", "rsp", "rbp",
                                                               "rsi", "rdi", "r8",  "r9",  "r10", "r11",
                                                               "r12", "r13", "r14", "r15"};

} // namespace clr::lldb_plugin
