// The IL of a method: its body in an image, and its instructions one by one. Source: ECMA-335 II.25.4
// (bodies) and III (instructions).
#pragma once

#include "core/metadata/pe_image.h"

#include <cstdint>
#include <vector>

namespace clr {

struct IlInstruction {
  std::uint32_t offset = 0; // within the code
  std::uint32_t next = 0;   // offset of the instruction behind it
  std::uint16_t opcode = 0; // 0xfe00 | second byte for those of two bytes
  // The operand: a token, the number of a variable, a number (sign-extended), or the distance of a jump. 0
  // for operands of eight bytes and for the list of a switch.
  std::int32_t operand = 0;

  std::uint32_t token() const { return static_cast<std::uint32_t>(operand); }
};

namespace il {

constexpr std::uint16_t call = 0x28, callvirt = 0x6f, ldfld = 0x7b, ldflda = 0x7c, stfld = 0x7d;

// br to blt.un, with and without a condition, in both lengths, and leave: the operand is a distance.
constexpr bool is_jump(std::uint16_t opcode) {
  return (opcode >= 0x2b && opcode <= 0x44) || opcode == 0xdd || opcode == 0xde;
}

} // namespace il

// The number that the instruction pushes when it is one of the forms of ldc.i4; nothing for any other.
std::optional<std::int32_t> pushed_constant(const IlInstruction& instruction);

// The number of the local variable that the instruction pushes or whose address it pushes, and of the one
// that it sets; nothing for any other.
std::optional<std::uint32_t> loaded_variable(const IlInstruction& instruction);
std::optional<std::uint32_t> stored_variable(const IlInstruction& instruction);

// The code of the body at `rva`, without its header and sections. Throws Error{corrupt} when there is no body
// and Error{memory_missing}. Cost: 3 reads.
std::vector<std::byte> il_code(const PeImage& image, std::uint32_t rva);

// All instructions in their order. Throws Error{corrupt} for an opcode that does not exist and for one that
// is cut.
std::vector<IlInstruction> il_instructions(std::span<const std::byte> code);

constexpr std::uint32_t max_il_code = 4u << 20; // bytes of one method; the largest known have some 500,000

} // namespace clr
