#include "core/isa/x64/stack_effect.h"

#include "core/isa/x64/instruction.h"

namespace clr {

StackEffect x64_stack_effect(std::span<const std::byte> code) {
  StackEffect effect{.length = x64_instruction_length(code)};
  const auto at = [&](std::size_t index) {
    return index < effect.length ? std::to_integer<unsigned>(code[index]) : 0u;
  };
  constexpr std::int64_t word = 8;
  const std::size_t op = (at(0) & 0xF0) == 0x40 ? 1 : 0; // behind REX
  const unsigned reg = at(op + 1) >> 3 & 7;
  if (at(op) >= 0x50 && at(op) < 0x58) effect.pushed = word;
  if (at(op) >= 0x58 && at(op) < 0x60) effect.pushed = -word;
  switch (at(op)) {
  case 0x68:
  case 0x6A:
    effect.pushed = word;
    break;
  case 0x8F:
    effect.pushed = -word;
    break;
  case 0xFF: // push, jmp
    effect.pushed = reg == 6 ? word : 0;
    effect.ends = reg == 4;
    break;
  case 0xC2:
  case 0xC3:
  case 0xE9:
  case 0xEB:
    effect.ends = true;
    break;
  case 0xF3:
    effect.ends = at(op + 1) == 0xC3;
    break;
  default:
    break;
  }
  return effect;
}

} // namespace clr
