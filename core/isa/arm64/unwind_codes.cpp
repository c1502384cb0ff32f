#include "core/isa/arm64/unwind_codes.h"

#include "core/isa/arm64/instruction.h"

#include <fmt/format.h>

namespace clr {
namespace {

constexpr unsigned first_saved = arm64_register::x19, first_saved_vector = arm64_register::v0 + 8;

// Bytes of the codes E0..FF; 0: not a code.
constexpr std::array<std::uint8_t, 32> long_sizes{4, 1, 2, 1, 1, 1, 1, 3, 1, 1, 1, 1, 1, 0, 0, 0,
                                                  0, 0, 0, 0, 0, 0, 0, 0, 2, 3, 4, 5, 1, 1, 1, 1};

Arm64UnwindCode save(unsigned first, unsigned count, std::uint64_t offset, std::uint64_t writeback = 0) {
  Arm64UnwindCode code;
  code.op = Arm64UnwindOp::save_registers;
  code.register_count = static_cast<std::uint8_t>(count);
  code.registers[0] = first;
  code.registers[1] = first + 1;
  code.offset = offset;
  code.writeback = writeback;
  return code;
}

Arm64UnwindCode plain(Arm64UnwindOp op, std::uint64_t value = 0) {
  Arm64UnwindCode code;
  code.op = op;
  code.value = value;
  return code;
}

// Bytes of a code by its first one; 0: not a code.
std::size_t size_of(std::uint8_t byte) {
  return byte < 0xC0 ? 1 : byte == 0xDF ? 0 : byte < 0xE0 ? 2 : long_sizes[byte - 0xE0];
}

bool is_save_any(unsigned high, unsigned low) {
  return (high & 0x80) == 0 && low >> 6 != 3;
}

// Whether `bytes` begin with a code that decode() takes.
bool is_code(std::span<const std::uint8_t> bytes) {
  const std::size_t size = size_of(bytes[0]);
  return size != 0 && size <= bytes.size() && (bytes[0] != 0xE7 || is_save_any(bytes[1], bytes[2]));
}

// E7: any register. 0pxrrrrr ffoooooo.
Arm64UnwindCode save_any(unsigned high, unsigned low, Address at) {
  const bool pair = (high & 0x40) != 0, writeback = (high & 0x20) != 0;
  const unsigned reg = high & 0x1F, kind = low >> 6;
  if (!is_save_any(high, low)) throw_corrupt(at, "an arm64 unwind code of unknown form");
  const std::uint64_t scale = pair || writeback || kind == 2 ? 16 : 8;
  const std::uint64_t amount = ((low & 0x3F) + (writeback ? 1 : 0)) * scale;
  Arm64UnwindCode code = save(kind == 0 ? reg : arm64_register::v0 + reg, pair ? 2 : 1,
                              writeback ? 0 : amount, writeback ? amount : 0);
  code.register_size = kind == 2 ? 16 : 8;
  return code;
}

// The codes of one byte and of two.
Arm64UnwindCode short_code(unsigned a, unsigned b) {
  using enum Arm64UnwindOp;
  const unsigned x4 = (a & 3) << 2 | b >> 6, z6 = b & 0x3F, z5 = b & 0x1F;
  if (a < 0x20) return plain(alloc, a * 16);
  if (a < 0x40) return save(first_saved, 2, 0, (a & 0x1F) * 8);
  if (a < 0x80) return save(arm64_register::fp, 2, (a & 0x3F) * 8);
  if (a < 0xC0) return save(arm64_register::fp, 2, 0, ((a & 0x3F) + 1) * 8);
  if (a < 0xC8) return plain(alloc, ((a & 7) << 8 | b) * 16);
  if (a < 0xCC) return save(first_saved + x4, 2, z6 * 8);
  if (a < 0xD0) return save(first_saved + x4, 2, 0, (z6 + 1) * 8);
  if (a < 0xD4) return save(first_saved + x4, 1, z6 * 8);
  if (a < 0xD6) return save(first_saved + ((a & 1) << 3 | b >> 5), 1, 0, (z5 + 1) * 8);
  const unsigned x3 = (a & 1) << 2 | b >> 6;
  if (a < 0xD8) {
    Arm64UnwindCode code = save(first_saved + 2 * x3, 2, z6 * 8);
    code.registers[1] = arm64_register::lr;
    return code;
  }
  if (a < 0xDA) return save(first_saved_vector + x3, 2, z6 * 8);
  if (a < 0xDC) return save(first_saved_vector + x3, 2, 0, (z6 + 1) * 8);
  if (a < 0xDE) return save(first_saved_vector + x3, 1, z6 * 8);
  return save(first_saved_vector + (b >> 5), 1, 0, (z5 + 1) * 8); // DE
}

Arm64UnwindCode long_code(std::span<const std::uint8_t> bytes, Address at) {
  using enum Arm64UnwindOp;
  switch (bytes[0]) {
  case 0xE0:
    return plain(alloc, (std::uint64_t{bytes[1]} << 16 | std::uint64_t{bytes[2]} << 8 | bytes[3]) * 16);
  case 0xE1:
    return plain(set_fp);
  case 0xE2:
    return plain(add_fp, bytes[1] * 8u);
  case 0xE4:
    return plain(end);
  case 0xE5:
    return plain(end_c);
  case 0xE6:
    return plain(save_next);
  case 0xE7:
    return save_any(bytes[1], bytes[2], at);
  case 0xE8:
    return plain(trap_frame);
  case 0xE9:
    return plain(machine_frame);
  case 0xEA:
    return plain(context);
  case 0xEB:
    return plain(ec_context);
  case 0xEC:
    return plain(clear_unwound_to_call);
  case 0xFC:
    return plain(pac_sign_lr);
  default:
    return plain(nop); // E3, and the codes reserved as such
  }
}

bool stands_for_instruction(const Arm64UnwindCode& code) {
  using enum Arm64UnwindOp;
  return code.op != trap_frame && code.op != machine_frame && code.op != context && code.op != ec_context &&
         code.op != clear_unwound_to_call && code.op != end && code.op != end_c;
}

Arm64UnwindCode decode(const Arm64UnwindInfo& info, std::size_t index) {
  const std::span<const std::uint8_t> bytes = std::span(info.codes).subspan(index);
  const std::uint8_t byte = bytes[0];
  const std::size_t size = size_of(byte);
  if (size == 0) throw_corrupt(info.address, fmt::format("unknown arm64 unwind code {:#x}", byte));
  if (bytes.size() < size) throw_corrupt(info.address, "an arm64 unwind code that runs past its record");
  Arm64UnwindCode code =
      byte < 0xE0 ? short_code(byte, size > 1 ? bytes[1] : 0u) : long_code(bytes, info.address);
  code.index = static_cast<std::uint16_t>(index);
  code.size = static_cast<std::uint8_t>(size);
  code.instruction = stands_for_instruction(code);
  return code;
}

// Epilogues share their codes: each code is decoded once, from the last one on.
void set_epilog_sizes(Arm64UnwindInfo& info) {
  if (info.epilogs.empty()) return;
  // Of the codes from each byte on; where these fill their words they need no end.
  std::vector<std::optional<std::uint32_t>> sizes(info.codes.size());
  for (std::size_t index = sizes.size(); index-- > 0;) {
    // Who needs damaged codes decodes them, and gets the error.
    if (!is_code(std::span(info.codes).subspan(index))) continue;
    const Arm64UnwindCode code = decode(info, index);
    const std::size_t next = index + code.size;
    std::optional<std::uint32_t> behind = next < sizes.size() ? sizes[next] : std::uint32_t{0};
    if (code.op == Arm64UnwindOp::end || (code.op == Arm64UnwindOp::end_c && behind)) behind = 0;
    if (behind) sizes[index] = *behind + (code.instruction ? 1 : 0);
  }
  for (Arm64EpilogScope& scope : info.epilogs)
    if (scope.code_index < sizes.size()) scope.size = sizes[scope.code_index];
}

} // namespace

std::string_view to_string(Arm64UnwindOp op) {
  constexpr std::array<std::string_view, 14> names{"alloc",
                                                   "save",
                                                   "set_fp",
                                                   "add_fp",
                                                   "nop",
                                                   "end",
                                                   "end_c",
                                                   "save_next",
                                                   "trap_frame",
                                                   "machine_frame",
                                                   "context",
                                                   "ec_context",
                                                   "clear_unwound_to_call",
                                                   "pac_sign_lr"};
  const auto index = static_cast<std::size_t>(op);
  return index < names.size() ? names[index] : "unknown";
}

Arm64UnwindInfo read_arm64_unwind_info(MemoryReader& memory, Address address) {
  // The shortest record is a header and one word of codes.
  std::byte header[8];
  memory.read(address, header);
  const std::uint32_t word = load<std::uint32_t>(header, arm64_byte_order);
  Arm64UnwindInfo info;
  info.address = address;
  info.function_length = (word & 0x3FFFF) * 4;
  info.version = word >> 18 & 3;
  if (info.version != 0)
    throw_corrupt(address, fmt::format("unwind information of unknown version {}", info.version));
  info.has_handler = (word >> 20 & 1) != 0;
  info.single_epilog = (word >> 21 & 1) != 0;
  std::uint32_t epilogs = word >> 22 & 31, code_words = word >> 27;
  std::size_t header_size = 4;
  if (epilogs == 0 && code_words == 0) {
    const std::uint32_t extension = load<std::uint32_t>(std::span(header).subspan(4), arm64_byte_order);
    epilogs = extension & 0xFFFF;
    code_words = extension >> 16 & 0xFF;
    header_size = 8;
  }
  if (info.single_epilog) {
    info.epilog_code_index = epilogs;
    epilogs = 0;
  }
  if (epilogs > max_arm64_epilogs)
    throw_corrupt(address, fmt::format("a function with {} epilogues", epilogs));
  // An epilogue is one instruction at least; this bounds what a wrong count can make us read.
  if (epilogs > info.function_length / arm64_instruction_size)
    throw_corrupt(address,
                  fmt::format("{} epilogues in a function of {} bytes", epilogs, info.function_length));
  const std::size_t needed = (std::size_t{epilogs} + code_words) * 4;
  std::vector<std::byte> raw(needed + (info.has_handler ? 4 : 0));
  const std::size_t got = memory.read_some(address + header_size, raw);
  if (got < needed) throw_missing(address + header_size + got);
  const std::span<const std::byte> bytes(raw);
  for (std::uint32_t n = 0; n < epilogs; ++n) {
    const std::uint32_t scope = load<std::uint32_t>(bytes.subspan(n * 4), arm64_byte_order);
    info.epilogs.push_back({.start = (scope & 0x3FFFF) * 4, .code_index = scope >> 22, .size = {}});
  }
  for (const std::byte byte : bytes.subspan(epilogs * 4, code_words * 4))
    info.codes.push_back(std::to_integer<std::uint8_t>(byte));
  set_epilog_sizes(info);
  // The handler is not needed to unwind.
  if (info.has_handler && got == raw.size())
    info.handler = load<std::uint32_t>(bytes.subspan(needed), arm64_byte_order);
  return info;
}

std::vector<Arm64UnwindCode> decode_arm64_codes(const Arm64UnwindInfo& info, std::uint32_t first) {
  std::vector<Arm64UnwindCode> result;
  for (std::size_t index = first; index < info.codes.size();) {
    result.push_back(decode(info, index));
    index += result.back().size;
    // Like the runtime: codes that fill their words need no end.
    if (result.back().op == Arm64UnwindOp::end) break;
  }
  return result;
}

} // namespace clr
