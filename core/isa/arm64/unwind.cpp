#include "core/isa/arm64/unwind.h"

#include "core/isa/arm64/packed_unwind.h"

#include <fmt/format.h>

#include <algorithm>

namespace clr {
namespace {

constexpr ByteOrder arm64_byte_order = ByteOrder::little; // .NET runs arm64 in no other
constexpr unsigned dwarf_v0 = 64;
constexpr unsigned first_saved = arm64_register::x19, first_saved_vector = dwarf_v0 + 8;
constexpr unsigned last_general = arm64_register::lr, last_vector = dwarf_v0 + 31;
constexpr std::uint64_t instruction_size = 4;

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

// E7: any register. 0pxrrrrr ffoooooo.
Arm64UnwindCode save_any(unsigned high, unsigned low, Address at) {
  const bool pair = (high & 0x40) != 0, writeback = (high & 0x20) != 0;
  const unsigned reg = high & 0x1F, kind = low >> 6;
  if ((high & 0x80) != 0 || kind == 3) throw_corrupt(at, "an arm64 unwind code of unknown form");
  const std::uint64_t scale = pair || writeback || kind == 2 ? 16 : 8;
  const std::uint64_t amount = ((low & 0x3F) + (writeback ? 1 : 0)) * scale;
  Arm64UnwindCode code =
      save(kind == 0 ? reg : dwarf_v0 + reg, pair ? 2 : 1, writeback ? 0 : amount, writeback ? amount : 0);
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

// Instructions that the codes describe up to the end of the scope; end_c ends a scope too.
std::uint64_t scope_size(const std::vector<Arm64UnwindCode>& codes) {
  std::uint64_t count = 0;
  for (const Arm64UnwindCode& code : codes) {
    if (code.op == Arm64UnwindOp::end || code.op == Arm64UnwindOp::end_c) break;
    count += code.instruction ? 1 : 0;
  }
  return count;
}

// The codes that are still to be undone at `offset`, and how many of them have not run or have been undone by
// the instructions of an epilogue already.
struct Position {
  std::vector<Arm64UnwindCode> codes;
  std::uint64_t skip = 0;
};

Position position_at(const Arm64UnwindInfo& info, std::uint64_t offset) {
  Position body{decode_arm64_codes(info, 0), 0};
  const std::uint64_t index = offset / instruction_size;
  const std::uint64_t prologue = scope_size(body.codes);
  if (index < prologue) {
    body.skip = prologue - index;
    return body;
  }
  const auto in_epilogue = [&](std::uint32_t code_index,
                               std::optional<std::uint64_t> start) -> std::optional<Position> {
    // An epilogue has one instruction more than its codes describe: the return.
    if (code_index >= info.codes.size()) return std::nullopt;
    Position epilogue{decode_arm64_codes(info, code_index), 0};
    const std::uint64_t size = scope_size(epilogue.codes) + 1;
    if (!start) {
      const std::uint64_t length = info.function_length / instruction_size;
      if (size > length) return std::nullopt;
      start = length - size;
    }
    if (index < *start || index >= *start + size) return std::nullopt;
    epilogue.skip = index - *start;
    return epilogue;
  };
  if (info.single_epilog) {
    if (auto epilogue = in_epilogue(info.epilog_code_index, std::nullopt)) return *std::move(epilogue);
    return body;
  }
  for (const Arm64EpilogScope& scope : info.epilogs) {
    const std::uint64_t start = scope.start / instruction_size;
    if (index < start) break;                            // the scopes are in order
    if (index > start + info.codes.size() + 1) continue; // a byte of codes describes one instruction at most
    if (auto epilogue = in_epilogue(scope.code_index, start)) return *std::move(epilogue);
  }
  return body;
}

// Undoes codes; the stack pointer is tracked as an offset from a register's value at the instruction.
class Arm64Undo {
public:
  explicit Arm64Undo(Address at) : at_(at) {}

  void undo(const Arm64UnwindCode& code) {
    using enum Arm64UnwindOp;
    if (code.op != save_registers && code.op != save_next && code.op != end_c) need_no_save_next();
    switch (code.op) {
    case alloc:
      sp_.offset += static_cast<std::int64_t>(code.value);
      break;
    case set_fp:
    case add_fp:
      if (layout_.find(arm64_register::fp))
        throw_corrupt(at_, "unwind codes that use the frame pointer after restoring it");
      sp_ = {arm64_register::fp, -static_cast<std::int64_t>(code.value)};
      break;
    case save_registers:
      restore(code);
      break;
    case save_next:
      ++save_nexts_;
      break;
    case trap_frame:
      kernel_frame(0xA0, 19, 0x140, 0x138, 0x98, 0x148);
      break;
    case context:
      kernel_frame(0x8, 29, 0xF0, 0xF8, 0x100, 0x108);
      break;
    case machine_frame:
      layout_.stack_pointer_at = sp_;
      layout_.save(arm64_register::pc, {sp_.reg, sp_.offset + 8});
      layout_.interrupted = true;
      break;
    case clear_unwound_to_call:
      layout_.interrupted = true;
      break;
    case pac_sign_lr:
      layout_.signed_return_address = true;
      break;
    case ec_context:
      throw Error(ErrorKind::unsupported_contract, at_, "unwind code of an ARM64EC context");
    case nop:
    case end:
    case end_c:
      break;
    }
  }

  FrameLayout finish() {
    need_no_save_next();
    layout_.cfa = sp_;
    return std::move(layout_);
  }

private:
  void need_no_save_next() const {
    if (save_nexts_ != 0) throw_corrupt(at_, "an arm64 save_next code without the pair that it continues");
  }

  void restore(const Arm64UnwindCode& code) {
    const bool consecutive = code.registers[1] == code.registers[0] + 1;
    if (save_nexts_ != 0 && (code.register_count != 2 || !consecutive)) need_no_save_next();
    const unsigned count = code.register_count + 2 * save_nexts_;
    save_nexts_ = 0;
    for (unsigned n = 0; n < count; ++n) {
      const unsigned reg = n < 2 ? code.registers[n] : code.registers[0] + n;
      const unsigned last = code.registers[0] < dwarf_v0 ? last_general : last_vector;
      if (reg > last) throw_corrupt(at_, "arm64 unwind codes that save more registers than there are");
      layout_.save(reg,
                   {sp_.reg, sp_.offset + static_cast<std::int64_t>(code.offset + n * code.register_size)});
    }
    sp_.offset += static_cast<std::int64_t>(code.writeback);
  }

  // A whole register record at sp.
  void kernel_frame(std::int64_t x0, unsigned count, std::int64_t fp, std::int64_t lr, std::int64_t sp,
                    std::int64_t pc) {
    const auto at = [&](std::int64_t offset) { return RegisterOffset{sp_.reg, sp_.offset + offset}; };
    for (unsigned n = 0; n < count; ++n) layout_.save(n, at(x0 + n * 8));
    layout_.save(arm64_register::fp, at(fp));
    layout_.save(arm64_register::lr, at(lr));
    layout_.save(arm64_register::pc, at(pc));
    layout_.stack_pointer_at = at(sp);
    layout_.interrupted = true;
  }

  Address at_;
  FrameLayout layout_;
  RegisterOffset sp_{arm64_register::sp, 0};
  unsigned save_nexts_ = 0;
};

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

Arm64RuntimeFunction read_arm64_runtime_function(MemoryReader& memory, Address address) {
  std::byte raw[8];
  memory.read(address, raw);
  return {load<std::uint32_t>(raw, arm64_byte_order),
          load<std::uint32_t>(std::span(raw).subspan(4), arm64_byte_order)};
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
  // An epilogue is one instruction at least; this bounds what a wrong count can make us read.
  if (epilogs > info.function_length / instruction_size)
    throw_corrupt(address,
                  fmt::format("{} epilogues in a function of {} bytes", epilogs, info.function_length));
  const std::size_t needed = (std::size_t{epilogs} + code_words) * 4;
  std::vector<std::byte> raw(needed + (info.has_handler ? 4 : 0));
  const std::size_t got = memory.read_some(address + header_size, raw);
  if (got < needed) throw_missing(address + header_size + got);
  const std::span<const std::byte> bytes(raw);
  for (std::uint32_t n = 0; n < epilogs; ++n) {
    const std::uint32_t scope = load<std::uint32_t>(bytes.subspan(n * 4), arm64_byte_order);
    info.epilogs.push_back({(scope & 0x3FFFF) * 4, scope >> 22});
  }
  for (const std::byte byte : bytes.subspan(epilogs * 4, code_words * 4))
    info.codes.push_back(std::to_integer<std::uint8_t>(byte));
  // The handler is not needed to unwind.
  if (info.has_handler && got == raw.size())
    info.handler = load<std::uint32_t>(bytes.subspan(needed), arm64_byte_order);
  return info;
}

std::vector<Arm64UnwindCode> decode_arm64_codes(const Arm64UnwindInfo& info, std::uint32_t first) {
  std::vector<Arm64UnwindCode> result;
  const std::span<const std::uint8_t> bytes(info.codes);
  for (std::size_t index = first; index < bytes.size();) {
    const std::uint8_t byte = bytes[index];
    const std::size_t size = byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : long_sizes[byte - 0xE0];
    if (size == 0 || byte == 0xDF)
      throw_corrupt(info.address, fmt::format("unknown arm64 unwind code {:#x}", byte));
    if (bytes.size() - index < size)
      throw_corrupt(info.address, "an arm64 unwind code that runs past its record");
    Arm64UnwindCode code = byte < 0xE0 ? short_code(byte, size > 1 ? bytes[index + 1] : 0u)
                                       : long_code(bytes.subspan(index), info.address);
    code.index = static_cast<std::uint16_t>(index);
    code.size = static_cast<std::uint8_t>(size);
    code.instruction = stands_for_instruction(code);
    result.push_back(code);
    index += size;
    // Like the runtime: codes that fill their words need no end.
    if (code.op == Arm64UnwindOp::end) break;
  }
  return result;
}

Arm64Function read_arm64_function(MemoryReader& memory, Address function, Address base) {
  constexpr std::uint32_t form_mask = 3, parent_form = 3;
  Arm64Function result{.entry = read_arm64_runtime_function(memory, function), .info = {}};
  if ((result.entry.unwind_data & form_mask) == parent_form) {
    function = base + result.entry.unwind_data - parent_form;
    result.entry = read_arm64_runtime_function(memory, function);
    result.at_start_of_parent = true;
  }
  const Address word_at = function + 4;
  switch (result.entry.unwind_data & form_mask) {
  case 0:
    result.info = read_arm64_unwind_info(memory, base + result.entry.unwind_data);
    break;
  case parent_form:
    throw_corrupt(word_at, "an arm64 unwind record whose parent names a parent");
  default:
    result.info = expand_arm64_packed(result.entry.unwind_data, word_at);
  }
  return result;
}

FrameLayout arm64_layout_at(const Arm64Function& function, Address base, Address ip) {
  const Arm64UnwindInfo& info = function.info;
  const Address record = info.address;
  const Address start = base + function.entry.begin, position = function.at_start_of_parent ? start : ip;
  if (position < start || position - start >= std::max<std::uint64_t>(info.function_length, 1))
    throw_corrupt(record, fmt::format("unwind information of another function than that of {:#x}", ip));
  Position todo = position_at(info, position - start);
  Arm64Undo undo(record);
  for (const Arm64UnwindCode& code : todo.codes) {
    if (todo.skip > 0 && code.instruction) {
      --todo.skip;
      continue;
    }
    if (todo.skip > 0 && code.op == Arm64UnwindOp::end) break;
    undo.undo(code);
  }
  return undo.finish();
}

std::vector<std::uint32_t> arm64_layout_changes(const Arm64UnwindInfo& info) {
  std::vector<std::uint32_t> offsets;
  const std::uint64_t length = info.function_length / instruction_size;
  const auto add = [&](std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t index = first; index <= first + count && index < length; ++index)
      offsets.push_back(static_cast<std::uint32_t>(index * instruction_size));
  };
  add(0, scope_size(decode_arm64_codes(info, 0)));
  const auto add_epilogue = [&](std::uint32_t code_index, std::optional<std::uint64_t> start) {
    if (code_index >= info.codes.size()) return;
    const std::uint64_t size = scope_size(decode_arm64_codes(info, code_index)) + 1;
    if (start || size <= length) add(start.value_or(length - size), size);
  };
  if (info.single_epilog) add_epilogue(info.epilog_code_index, std::nullopt);
  for (const Arm64EpilogScope& scope : info.epilogs)
    add_epilogue(scope.code_index, scope.start / instruction_size);
  std::ranges::sort(offsets);
  const auto same = std::ranges::unique(offsets);
  offsets.erase(same.begin(), same.end());
  return offsets;
}

FrameLayout arm64_frame_layout(MemoryReader& memory, Address function, Address base, Address ip) {
  return arm64_layout_at(read_arm64_function(memory, function, base), base, ip);
}

} // namespace clr
