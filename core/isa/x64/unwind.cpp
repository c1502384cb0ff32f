#include "core/isa/x64/unwind.h"

#include "core/isa/x64/epilogue.h"

#include <fmt/format.h>

#include <algorithm>

namespace clr {
namespace {

constexpr ByteOrder x64_byte_order = ByteOrder::little; // x64 has no other
constexpr unsigned max_version = 2;
constexpr std::size_t runtime_function_size = 12;
constexpr unsigned machine_rsp = 4;

// Slots of 16 bits that each operation takes; alloc_large depends on its info.
unsigned slots_of(X64UnwindOp op, unsigned info) {
  switch (op) {
  case X64UnwindOp::push_nonvol:
  case X64UnwindOp::alloc_small:
  case X64UnwindOp::set_fpreg:
  case X64UnwindOp::push_machframe:
    return 1;
  case X64UnwindOp::alloc_large:
    return info == 0 ? 2 : 3;
  case X64UnwindOp::save_nonvol:
  case X64UnwindOp::save_xmm128:
  case X64UnwindOp::epilog:
    return 2;
  case X64UnwindOp::save_nonvol_far:
  case X64UnwindOp::save_xmm128_far:
  case X64UnwindOp::spare:
  case X64UnwindOp::set_fpreg_large:
    return 3;
  }
  return 1;
}

// The number that the slots behind the first hold, scaled to bytes.
std::uint64_t value_of(const X64UnwindCode& code, std::uint64_t near, std::uint64_t far) {
  switch (code.op) {
  case X64UnwindOp::alloc_small:
    return code.info * 8u + 8u;
  case X64UnwindOp::alloc_large:
    return code.info == 0 ? near * 8 : far;
  case X64UnwindOp::save_nonvol:
    return near * 8;
  case X64UnwindOp::save_xmm128:
    return near * 16;
  case X64UnwindOp::save_nonvol_far:
  case X64UnwindOp::save_xmm128_far:
    return far;
  case X64UnwindOp::set_fpreg_large:
    return far * 16;
  case X64UnwindOp::push_machframe:
    return code.info != 0 ? 1 : 0;
  default:
    return 0;
  }
}

// Undoes the codes of one record after the other. Registers are not read: `sp_` tracks the stack pointer as
// an offset from a register's value at the instruction, so that the result depends on the code alone.
class X64Undo {
public:
  void record(const X64UnwindInfo& info, std::uint64_t offset, Address at) {
    const RegisterOffset base = save_base_ ? *save_base_ : save_base(info, offset);
    // A chained record continues its parent's frame: one base for all of them.
    save_base_ = base;
    for (const X64UnwindCode& code : info.codes)
      if (offset >= code.prolog_offset) undo(info, code, base, at);
  }

  FrameLayout finish() {
    if (!machine_frame_) {
      layout_.save(x64_register::rip, sp_);
      sp_.offset += 8;
    }
    layout_.cfa = sp_;
    return std::move(layout_);
  }

private:
  // The base that SAVE_NONVOL counts from: the frame register once it is set up, else rsp.
  static RegisterOffset save_base(const X64UnwindInfo& info, std::uint64_t offset) {
    const RegisterOffset rsp{x64_register::rsp, 0};
    if (info.frame_register == 0) return rsp;
    bool established = offset >= info.prolog_size || (info.flags & X64UnwindInfo::chained_info) != 0;
    if (!established) {
      const auto set = std::ranges::find_if(info.codes, [](const X64UnwindCode& code) {
        return code.op == X64UnwindOp::set_fpreg || code.op == X64UnwindOp::set_fpreg_large;
      });
      established = set != info.codes.end() && offset >= set->prolog_offset;
    }
    if (!established) return rsp;
    return {x64_dwarf_register(info.frame_register), -static_cast<std::int64_t>(info.frame_offset)};
  }

  void undo(const X64UnwindInfo& info, const X64UnwindCode& code, const RegisterOffset& base, Address at) {
    const auto bytes = static_cast<std::int64_t>(code.value);
    switch (code.op) {
    case X64UnwindOp::push_nonvol:
      layout_.save(x64_dwarf_register(code.info), sp_);
      sp_.offset += 8;
      break;
    case X64UnwindOp::alloc_large:
    case X64UnwindOp::alloc_small:
      sp_.offset += bytes;
      break;
    case X64UnwindOp::set_fpreg:
    case X64UnwindOp::set_fpreg_large: {
      const unsigned frame_register = x64_dwarf_register(info.frame_register);
      // The value at the instruction is meant; after its restoration the register is the caller's.
      if (layout_.find(frame_register))
        throw_corrupt(at, "unwind codes that use the frame register after restoring it");
      sp_ = {frame_register, -static_cast<std::int64_t>(info.frame_offset)};
      break;
    }
    case X64UnwindOp::save_nonvol:
    case X64UnwindOp::save_nonvol_far:
      layout_.save(x64_dwarf_register(code.info), {base.reg, base.offset + bytes});
      break;
    case X64UnwindOp::save_xmm128:
    case X64UnwindOp::save_xmm128_far:
      layout_.save(x64_register::xmm0 + code.info, {base.reg, base.offset + bytes});
      break;
    case X64UnwindOp::push_machframe: {
      const std::int64_t error_code = code.value != 0 ? 8 : 0;
      layout_.save(x64_register::rip, {sp_.reg, sp_.offset + error_code});
      layout_.stack_pointer_at = {sp_.reg, sp_.offset + error_code + 24};
      layout_.interrupted = true;
      machine_frame_ = true;
      break;
    }
    case X64UnwindOp::epilog:
    case X64UnwindOp::spare:
      break;
    }
  }

  FrameLayout layout_;
  RegisterOffset sp_{x64_register::rsp, 0};
  std::optional<RegisterOffset> save_base_;
  bool machine_frame_ = false;
};

X64RuntimeFunction parse_runtime_function(std::span<const std::byte> raw) {
  return {load<std::uint32_t>(raw, x64_byte_order), load<std::uint32_t>(raw.subspan(4), x64_byte_order),
          load<std::uint32_t>(raw.subspan(8), x64_byte_order)};
}

} // namespace

std::string_view to_string(X64UnwindOp op) {
  constexpr std::array<std::string_view, 12> names{
      "PUSH_NONVOL", "ALLOC_LARGE", "ALLOC_SMALL", "SET_FPREG",       "SAVE_NONVOL",    "SAVE_NONVOL_FAR",
      "EPILOG",      "SPARE",       "SAVE_XMM128", "SAVE_XMM128_FAR", "PUSH_MACHFRAME", "SET_FPREG_LARGE"};
  const auto index = static_cast<std::size_t>(op);
  return index < names.size() ? names[index] : "unknown";
}

unsigned x64_dwarf_register(unsigned machine_register) {
  constexpr std::array<unsigned, 8> low{0, 2, 1, 3, 7, 6, 4, 5};
  return machine_register < low.size() ? low[machine_register] : machine_register;
}

X64RuntimeFunction read_x64_runtime_function(MemoryReader& memory, Address address) {
  std::byte raw[runtime_function_size];
  memory.read(address, raw);
  return parse_runtime_function(raw);
}

X64UnwindInfo read_x64_unwind_info(MemoryReader& memory, Address address) {
  std::byte header[4];
  memory.read(address, header);
  X64UnwindInfo info;
  info.version = std::to_integer<unsigned>(header[0]) & 7;
  info.flags = static_cast<std::uint8_t>(std::to_integer<unsigned>(header[0]) >> 3);
  info.prolog_size = std::to_integer<std::uint8_t>(header[1]);
  const std::size_t count = std::to_integer<std::size_t>(header[2]);
  info.frame_register = std::to_integer<std::uint8_t>(header[3]) & 0xF;
  info.frame_offset = (std::to_integer<std::uint64_t>(header[3]) >> 4) * 16;
  if (info.version == 0 || info.version > max_version)
    throw_corrupt(address, fmt::format("unwind information of unknown version {}", info.version));

  const bool chained = (info.flags & X64UnwindInfo::chained_info) != 0;
  const bool handled =
      (info.flags & (X64UnwindInfo::exception_handler | X64UnwindInfo::termination_handler)) != 0;
  // The slots are padded to an even count. The handler is not needed to unwind.
  const std::size_t slot_bytes = (count + 1) / 2 * 4;
  const std::size_t tail = chained ? runtime_function_size : handled ? 4 : 0;
  std::array<std::byte, 256 * 2 + runtime_function_size> buffer;
  const std::span<std::byte> raw = std::span(buffer).first(slot_bytes + tail);
  if (const std::size_t got = memory.read_some(address + sizeof header, raw);
      got < slot_bytes + (chained ? tail : 0))
    throw_missing(address + sizeof header + got);
  else if (got < raw.size())
    ; // the handler alone is missing
  else if (chained)
    info.parent = parse_runtime_function(raw.subspan(slot_bytes));
  else if (handled)
    info.handler = load<std::uint32_t>(raw.subspan(slot_bytes), x64_byte_order);

  const auto slot = [&](std::size_t index) {
    return load<std::uint16_t>(std::span<const std::byte>(raw).subspan(index * 2), x64_byte_order);
  };
  for (std::size_t index = 0; index < count;) {
    const std::uint16_t word = slot(index);
    const unsigned op = word >> 8 & 0xF;
    if (op > static_cast<unsigned>(X64UnwindOp::set_fpreg_large))
      throw_corrupt(address, fmt::format("unknown unwind operation {}", op));
    X64UnwindCode code;
    code.prolog_offset = static_cast<std::uint8_t>(word & 0xFF);
    code.op = static_cast<X64UnwindOp>(op);
    code.info = static_cast<std::uint8_t>(word >> 12);
    const unsigned slots = slots_of(code.op, code.info);
    if (index + slots > count) throw_corrupt(address, "unwind codes that run past their count");
    const std::uint64_t near = slots > 1 ? slot(index + 1) : 0;
    const std::uint64_t far = slots > 2 ? near | std::uint64_t{slot(index + 2)} << 16 : near;
    code.value = value_of(code, near, far);
    if (code.op == X64UnwindOp::set_fpreg_large) info.frame_offset = code.value;
    info.codes.push_back(code);
    index += slots;
  }
  // SET_FPREG means the offset of the header, which SET_FPREG_LARGE of the same record has replaced by now.
  for (X64UnwindCode& code : info.codes)
    if (code.op == X64UnwindOp::set_fpreg) code.value = info.frame_offset;
  const bool sets_frame = std::ranges::any_of(info.codes, [](const X64UnwindCode& code) {
    return code.op == X64UnwindOp::set_fpreg || code.op == X64UnwindOp::set_fpreg_large;
  });
  if (sets_frame && (info.frame_register == 0 || info.frame_register == machine_rsp))
    throw_corrupt(address, "unwind codes that set up a frame register that the record does not name");
  return info;
}

X64UnwindChain read_x64_unwind_chain(MemoryReader& memory, Address function, Address base) {
  X64UnwindChain chain{.base = base, .links = {}};
  X64RuntimeFunction entry = read_x64_runtime_function(memory, function);
  for (;;) {
    const Address at = base + entry.unwind_data;
    chain.links.push_back({entry, read_x64_unwind_info(memory, at)});
    const auto& parent = chain.links.back().info.parent;
    if (!parent) return chain;
    if (chain.links.size() > max_x64_chain)
      throw_corrupt(at, fmt::format("a chain of more than {} unwind records", max_x64_chain));
    entry = *parent;
  }
}

FrameLayout x64_layout_at(const X64UnwindChain& chain, Address ip) {
  X64Undo undo;
  // Below the start of a chained parent the difference wraps to a large offset: past its prologue, as it is.
  for (const X64UnwindChain::Link& link : chain.links)
    undo.record(link.info, ip - (chain.base + link.entry.begin), chain.base + link.entry.unwind_data);
  return undo.finish();
}

FrameLayout x64_frame_layout(MemoryReader& memory, Address function, Address base, Address ip, bool leaf,
                             const std::function<bool(Address)>& same_method) {
  const X64UnwindChain chain = read_x64_unwind_chain(memory, function, base);
  if (leaf)
    if (auto epilogue = x64_epilogue_layout(memory, ip, chain.frame_register(),
                                            {chain.begin(), chain.end(), chain.chained()}, same_method))
      return std::move(*epilogue);
  return x64_layout_at(chain, ip);
}

} // namespace clr
