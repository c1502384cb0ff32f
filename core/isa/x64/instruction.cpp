#include "core/isa/x64/instruction.h"

#include "core/isa/code_instructions.h"
#include "core/isa/x64/calls.h"

#include <cstdint>

namespace clr {
namespace {

// The operands behind an opcode. `immediate_z` is 4 bytes, 2 with an operand size prefix; `group3` has an
// immediate only as TEST (/0 and /1).
enum Operands : std::uint8_t {
  none = 0,
  modrm = 1,
  immediate_8 = 2,
  immediate_z = 4,
  immediate_16 = 8,
  immediate_v = 16, // as z, 8 bytes with REX.W
  offset = 32,      // an absolute address
  group3 = 64,
  invalid = 128,
};

unsigned one_byte_map(unsigned op) {
  if (op < 0x40) {
    const unsigned low = op & 7;
    return low < 4 ? modrm : low == 4 ? immediate_8 : low == 5 ? immediate_z : invalid;
  }
  switch (op) {
  case 0x60:
  case 0x61:
  case 0x62:
  case 0x82:
  case 0x9A:
  case 0xC4:
  case 0xC5:
  case 0xCE:
  case 0xD4:
  case 0xD5:
  case 0xD6:
  case 0xEA:
    return invalid;
  case 0x63:
  case 0xD0:
  case 0xD1:
  case 0xD2:
  case 0xD3:
  case 0xFE:
  case 0xFF:
    return modrm;
  case 0x68:
  case 0xA9:
  case 0xE8:
  case 0xE9:
    return immediate_z;
  case 0x69:
  case 0x81:
  case 0xC7:
    return modrm | immediate_z;
  case 0x6A:
  case 0xA8:
  case 0xCD:
  case 0xEB:
    return immediate_8;
  case 0x6B:
  case 0x80:
  case 0x83:
  case 0xC0:
  case 0xC1:
  case 0xC6:
    return modrm | immediate_8;
  case 0xC2:
  case 0xCA:
    return immediate_16;
  case 0xC8:
    return immediate_16 | immediate_8;
  case 0xF6:
    return modrm | group3 | immediate_8;
  case 0xF7:
    return modrm | group3 | immediate_z;
  default:
    break;
  }
  if (op >= 0x70 && op < 0x80) return immediate_8;
  if (op >= 0x84 && op < 0x90) return modrm;
  if (op >= 0xA0 && op < 0xA4) return offset;
  if (op >= 0xB0 && op < 0xB8) return immediate_8;
  if (op >= 0xB8 && op < 0xC0) return immediate_v;
  if (op >= 0xD8 && op < 0xE0) return modrm;
  if (op >= 0xE0 && op < 0xE8) return immediate_8;
  return none;
}

unsigned two_byte_map(unsigned op) {
  if (op >= 0x80 && op < 0x90) return immediate_z;
  if ((op >= 0x30 && op < 0x38) || (op >= 0xC8 && op < 0xD0)) return none;
  if (op >= 0x70 && op < 0x74) return modrm | immediate_8;
  switch (op) {
  case 0x04:
  case 0x0A:
  case 0x0C:
  case 0x0F: // 3DNow!
  case 0x24:
  case 0x25:
  case 0x26:
  case 0x27:
    return invalid;
  case 0x05:
  case 0x06:
  case 0x07:
  case 0x08:
  case 0x09:
  case 0x0B:
  case 0x0E:
  case 0x77:
  case 0xA0:
  case 0xA1:
  case 0xA2:
  case 0xA8:
  case 0xA9:
  case 0xAA:
    return none;
  case 0xA4:
  case 0xAC:
  case 0xBA:
  case 0xC2:
  case 0xC4:
  case 0xC5:
  case 0xC6:
    return modrm | immediate_8;
  default:
    return modrm;
  }
}

// Opcodes behind VEX and EVEX prefixes. Map 4 holds the instructions of the one byte map with APX' prefix.
unsigned extended_map(unsigned map, unsigned op, bool vex) {
  switch (map) {
  case 1:
    if (vex && op == 0x77) return none; // vzeroupper
    return modrm | (two_byte_map(op) & immediate_8);
  case 2:
  case 5:
  case 6:
    return modrm;
  case 3:
    return modrm | immediate_8;
  case 4:
    if (op == 0x24 || op == 0x2C) return modrm | immediate_8;
    return modrm | (one_byte_map(op) & (immediate_8 | immediate_z | group3));
  default:
    return invalid;
  }
}

class Bytes {
public:
  explicit Bytes(std::span<const std::byte> code) : code_(code) {}

  // Behind the end: 0, and ended() from then on.
  unsigned next() { return at_ < code_.size() ? std::to_integer<unsigned>(code_[at_++]) : (++at_, 0); }
  unsigned peek() const { return at_ < code_.size() ? std::to_integer<unsigned>(code_[at_]) : 0; }
  void skip(std::size_t count) { at_ += count; }
  std::size_t position() const { return at_; }
  bool ended() const { return at_ > code_.size() || at_ > max_x64_instruction; }

private:
  std::span<const std::byte> code_;
  std::size_t at_ = 0;
};

// Skips the ModRM byte with what it calls for; returns its reg field.
unsigned skip_modrm(Bytes& bytes) {
  const unsigned byte = bytes.next(), mod = byte >> 6, rm = byte & 7;
  if (mod == 3) return byte >> 3 & 7;
  const bool has_sib = rm == 4;
  const unsigned base = has_sib ? bytes.next() & 7 : rm;
  if (mod == 1)
    bytes.skip(1);
  else if (mod == 2 || base == 5) // without a displacement of its own 5 is rip, or no base
    bytes.skip(4);
  return byte >> 3 & 7;
}

bool is_legacy_prefix(unsigned byte) {
  switch (byte) {
  case 0x26:
  case 0x2E:
  case 0x36:
  case 0x3E:
  case 0x64:
  case 0x65:
  case 0x66:
  case 0x67:
  case 0xF0:
  case 0xF2:
  case 0xF3:
    return true;
  default:
    return false;
  }
}

} // namespace

unsigned x64_instruction_length(std::span<const std::byte> code) {
  Bytes bytes(code);
  bool small_operand = false, small_address = false, wide = false;
  while (is_legacy_prefix(bytes.peek()) && !bytes.ended()) {
    const unsigned prefix = bytes.next();
    small_operand = small_operand || prefix == 0x66;
    small_address = small_address || prefix == 0x67;
  }
  if ((bytes.peek() & 0xF0) == 0x40) wide = (bytes.next() & 8) != 0;

  unsigned operands = invalid;
  const unsigned op = bytes.next();
  switch (op) {
  case 0x0F: {
    const unsigned second = bytes.next();
    if (second == 0x38 || second == 0x3A) {
      bytes.next();
      operands = second == 0x38 ? modrm : modrm | immediate_8;
    } else {
      operands = two_byte_map(second);
    }
    break;
  }
  case 0xC5: // VEX, two bytes
    bytes.next();
    operands = extended_map(1, bytes.next(), true);
    break;
  case 0xC4: { // VEX, three bytes
    const unsigned map = bytes.next() & 31;
    bytes.next();
    operands = map <= 3 ? extended_map(map, bytes.next(), true) : static_cast<unsigned>(invalid);
    break;
  }
  case 0x62: { // EVEX
    const unsigned map = bytes.next() & 7;
    small_operand = (bytes.next() & 3) == 1;
    bytes.next();
    operands = extended_map(map, bytes.next(), false);
    break;
  }
  case 0xD5: { // REX2
    const unsigned payload = bytes.next();
    wide = (payload & 8) != 0;
    const unsigned opcode = bytes.next();
    operands = (payload & 0x80) != 0 ? two_byte_map(opcode) : one_byte_map(opcode);
    break;
  }
  default:
    operands = one_byte_map(op);
  }
  if ((operands & invalid) != 0) return 0;

  const unsigned reg = (operands & modrm) != 0 ? skip_modrm(bytes) : 0;
  const bool has_immediate = (operands & group3) == 0 || reg < 2;
  // A near branch keeps its 4 bytes: the prefix does not narrow it in 64-bit mode.
  const bool branch = op == 0xE8 || op == 0xE9 || (op == 0x0F && (operands & modrm) == 0);
  if (has_immediate) {
    if ((operands & immediate_8) != 0) bytes.skip(1);
    if ((operands & immediate_z) != 0) bytes.skip(small_operand && !wide && !branch ? 2 : 4);
    if ((operands & immediate_16) != 0) bytes.skip(2);
    if ((operands & immediate_v) != 0) bytes.skip(wide ? 8 : small_operand ? 2 : 4);
    if ((operands & offset) != 0) bytes.skip(small_address ? 4 : 8);
  }
  return bytes.ended() ? 0 : static_cast<unsigned>(bytes.position());
}

std::uint32_t x64_list_instructions(std::span<const std::byte> code, std::uint32_t begin, std::uint32_t end,
                                    InstructionList& to) {
  for (std::uint32_t at = begin; at < end;) {
    const std::span<const std::byte> rest = code.subspan(at);
    const unsigned length = x64_instruction_length(rest);
    if (length == 0) return at;
    to.starts.push_back(at);
    if (x64_is_call(rest.first(length))) to.calls.push_back(at);
    at += length;
  }
  return end;
}

} // namespace clr
