// The lengths of x64 instructions, and so where each begins.
// Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, chapter 2 and appendix A.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace clr {

// Bytes of the instruction at the front of `code`; 0 when there is no such instruction in 64-bit mode, when
// it is not known (3DNow!, XOP) or when `code` ends within it. No reads.
unsigned x64_instruction_length(std::span<const std::byte> code);

constexpr unsigned max_x64_instruction = 15;

struct InstructionList;
// See Architecture::list_instructions.
std::uint32_t x64_list_instructions(std::span<const std::byte> code, std::uint32_t begin, std::uint32_t end,
                                    InstructionList& to);

} // namespace clr
