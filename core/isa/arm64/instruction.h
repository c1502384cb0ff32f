// arm64 instructions are of one length; only calls are told apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace clr {

constexpr std::uint32_t arm64_instruction_size = 4; // bytes

struct InstructionList;
// See Architecture::list_instructions.
std::uint32_t arm64_list_instructions(std::span<const std::byte> code, std::uint32_t begin, std::uint32_t end,
                                      InstructionList& to);

} // namespace clr
