#include "core/isa/arm64/unwind.h"

#include "core/isa/arm64/instruction.h"
#include "core/isa/arm64/packed_unwind.h"

#include <fmt/format.h>

#include <algorithm>

namespace clr {
namespace {

constexpr unsigned last_general = arm64_register::lr, last_vector = arm64_register::v0 + 31;

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
  const std::uint64_t index = offset / arm64_instruction_size;
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
      const std::uint64_t length = info.function_length / arm64_instruction_size;
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
    const std::uint64_t start = scope.start / arm64_instruction_size;
    if (index < start) break; // the scopes are in order
    // An epilogue that lies elsewhere needs no decoding.
    if (scope.size ? index > start + *scope.size : index > start + info.codes.size() + 1) continue;
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
      const unsigned last = code.registers[0] < arm64_register::v0 ? last_general : last_vector;
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

Arm64RuntimeFunction read_arm64_runtime_function(MemoryReader& memory, Address address) {
  std::byte raw[8];
  memory.read(address, raw);
  return {load<std::uint32_t>(raw, arm64_byte_order),
          load<std::uint32_t>(std::span(raw).subspan(4), arm64_byte_order)};
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
  const std::uint64_t length = info.function_length / arm64_instruction_size;
  struct Part {
    std::uint64_t begin = 0, end = 0; // instructions, with the one behind the part
  };
  std::vector<Part> parts{{0, scope_size(decode_arm64_codes(info, 0)) + 1}};
  if (info.single_epilog && info.epilog_code_index < info.codes.size()) {
    const std::uint64_t size = scope_size(decode_arm64_codes(info, info.epilog_code_index)) + 1;
    if (size <= length) parts.push_back({length - size, length});
  }
  for (const Arm64EpilogScope& scope : info.epilogs) {
    if (scope.code_index >= info.codes.size()) continue;
    const std::uint64_t begin = scope.start / arm64_instruction_size;
    const std::uint64_t size =
        scope.size ? *scope.size : scope_size(decode_arm64_codes(info, scope.code_index));
    parts.push_back({begin, begin + size + 2});
  }
  // Scopes that lie upon each other are those of damaged data, and have no more instructions than one.
  std::ranges::sort(parts, {}, &Part::begin);
  std::vector<std::uint32_t> offsets;
  std::uint64_t next = 0;
  for (const Part& part : parts)
    for (next = std::max(next, part.begin); next < part.end && next < length; ++next) {
      if (offsets.size() == max_arm64_layout_changes)
        throw_corrupt(info.address,
                      fmt::format("prologue and epilogues of more than {} instructions", offsets.size()));
      offsets.push_back(static_cast<std::uint32_t>(next * arm64_instruction_size));
    }
  return offsets;
}

FrameLayout arm64_frame_layout(MemoryReader& memory, Address function, Address base, Address ip) {
  return arm64_layout_at(read_arm64_function(memory, function, base), base, ip);
}

} // namespace clr
