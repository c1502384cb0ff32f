#include "core/isa/arm64/instruction.h"

#include "core/isa/arm64/calls.h"
#include "core/isa/code_instructions.h"

namespace clr {

std::uint32_t arm64_list_instructions(std::span<const std::byte> code, std::uint32_t begin, std::uint32_t end,
                                      InstructionList& to) {
  for (std::uint32_t at = begin; at < end && end - at >= arm64_instruction_size;
       at += arm64_instruction_size) {
    to.starts.push_back(at);
    if (arm64_is_call(load<std::uint32_t>(code.subspan(at), ByteOrder::little))) to.calls.push_back(at);
  }
  return end;
}

} // namespace clr
