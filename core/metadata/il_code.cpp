#include "core/metadata/il_code.h"

#include <fmt/format.h>

namespace clr {
namespace {

constexpr unsigned switch_operand = 0xff, no_opcode = 0xfe;

// Bytes of the operand.
unsigned operand_size(std::uint16_t opcode) {
  const auto within = [&](std::uint16_t first, std::uint16_t last) {
    return opcode >= first && opcode <= last;
  };
  if (opcode >= 0xfe00) {
    const unsigned second = opcode & 0xff;
    if (second == 0x06 || second == 0x07 || second == 0x15 || second == 0x16 || second == 0x1c) return 4;
    if (second >= 0x09 && second <= 0x0e) return 2;
    if (second == 0x12 || second == 0x19) return 1;
    return second <= 0x1e && second != 0x08 && second != 0x10 && second != 0x1b ? 0 : no_opcode;
  }
  if (within(0x0e, 0x13) || opcode == 0x1f || within(0x2b, 0x37) || opcode == 0xde) return 1;
  if (opcode == 0x21 || opcode == 0x23) return 8;
  if (opcode == 0x45) return switch_operand;
  if (opcode == 0x20 || opcode == 0x22 || within(0x27, 0x29) || within(0x38, 0x44) || within(0x6f, 0x75) ||
      opcode == 0x79 || within(0x7b, 0x81) || opcode == 0x8c || opcode == 0x8d || opcode == 0x8f ||
      within(0xa3, 0xa5) || opcode == 0xc2 || opcode == 0xc6 || opcode == 0xd0 || opcode == 0xdd)
    return 4;
  const bool unused = opcode == 0x24 || opcode == 0x77 || opcode == 0x78 || within(0xa6, 0xb2) ||
                      within(0xbb, 0xc1) || opcode == 0xc4 || opcode == 0xc5 || within(0xc7, 0xcf) ||
                      opcode > 0xe0;
  return unused ? no_opcode : 0;
}

[[noreturn]] void fail(std::uint32_t offset, const char* what) {
  throw Error(ErrorKind::corrupt, fmt::format("IL_{:04x}: {}", offset, what));
}

} // namespace

std::optional<std::int32_t> pushed_constant(const IlInstruction& instruction) {
  if (instruction.opcode >= 0x15 && instruction.opcode <= 0x1e) return instruction.opcode - 0x16;
  if (instruction.opcode == 0x1f || instruction.opcode == 0x20) return instruction.operand;
  return std::nullopt;
}

std::optional<std::uint32_t> loaded_variable(const IlInstruction& instruction) {
  const std::uint16_t opcode = instruction.opcode;
  if (opcode >= 0x06 && opcode <= 0x09) return opcode - 0x06U;
  if (opcode == 0x11 || opcode == 0x12) return instruction.token() & 0xff;
  if (opcode == 0xfe0c || opcode == 0xfe0d) return instruction.token() & 0xffff;
  return std::nullopt;
}

std::optional<std::uint32_t> stored_variable(const IlInstruction& instruction) {
  const std::uint16_t opcode = instruction.opcode;
  if (opcode >= 0x0a && opcode <= 0x0d) return opcode - 0x0aU;
  if (opcode == 0x13) return instruction.token() & 0xff;
  if (opcode == 0xfe0e) return instruction.token() & 0xffff;
  return std::nullopt;
}

std::vector<std::byte> il_code(const PeImage& image, std::uint32_t rva) {
  if (rva == 0) throw Error(ErrorKind::corrupt, "the method has no IL");
  const ByteRange body = image.range_from(rva);
  const std::uint8_t first = body.u8(0);
  std::uint64_t header = 1;
  std::uint32_t size = first >> 2;
  if ((first & 3) == 3) {
    header = std::uint64_t{4} * (body.u16(0) >> 12);
    size = body.u32(4);
    if (header < 12) throw_corrupt(body.begin(), "no header of a method's IL");
  } else if ((first & 3) != 2) {
    throw_corrupt(body.begin(), "no header of a method's IL");
  }
  if (size > max_il_code) throw_corrupt(body.begin(), "a method with too much IL");
  return body.bytes(header, size);
}

std::vector<IlInstruction> il_instructions(std::span<const std::byte> code) {
  std::vector<IlInstruction> all;
  const auto size = static_cast<std::uint32_t>(code.size());
  for (std::uint32_t at = 0; at < size;) {
    IlInstruction instruction{.offset = at};
    const auto need = [&](std::uint64_t bytes) {
      if (bytes > size - at) fail(instruction.offset, "the instruction is cut");
    };
    instruction.opcode = std::to_integer<std::uint8_t>(code[at++]);
    if (instruction.opcode == 0xfe) {
      need(1);
      instruction.opcode = static_cast<std::uint16_t>(0xfe00 | std::to_integer<unsigned>(code[at++]));
    }
    std::uint64_t operand = operand_size(instruction.opcode);
    if (operand == no_opcode) fail(instruction.offset, "no instruction");
    if (operand == switch_operand) {
      need(4);
      operand = 4 + std::uint64_t{4} * load<std::uint32_t>(code.subspan(at), ByteOrder::little);
    }
    need(operand);
    if (operand == 1)
      instruction.operand = static_cast<std::int8_t>(std::to_integer<std::uint8_t>(code[at]));
    else if (operand == 2)
      instruction.operand = load<std::uint16_t>(code.subspan(at), ByteOrder::little);
    else if (operand == 4)
      instruction.operand = load<std::int32_t>(code.subspan(at), ByteOrder::little);
    at += static_cast<std::uint32_t>(operand);
    instruction.next = at;
    all.push_back(instruction);
  }
  return all;
}

} // namespace clr
