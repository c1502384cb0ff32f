#include "core/isa/x64/epilogue.h"

#include "core/isa/x64/unwind.h"

namespace clr {
namespace {

// An adjustment, 15 pops with prefixes and a jump.
constexpr std::size_t max_epilogue = 7 + 15 * 2 + 8;
constexpr unsigned x64_machine_rbp = 5; // as instructions encode it; the JIT's only frame register on x64

// The instruction bytes at ip; asking for one that is missing is a fault.
class EpilogueBytes {
public:
  EpilogueBytes(MemoryReader& memory, Address ip) : ip_(ip), size_(memory.read_some(ip, bytes_)) {}

  unsigned operator[](std::size_t index) const {
    if (position_ + index >= size_) throw_missing(ip_ + position_ + index);
    return std::to_integer<unsigned>(bytes_[position_ + index]);
  }
  std::int32_t imm8(std::size_t index) const { return static_cast<std::int8_t>((*this)[index]); }
  std::int32_t imm32(std::size_t index) const {
    const std::uint32_t value =
        (*this)[index] | (*this)[index + 1] << 8 | (*this)[index + 2] << 16 | (*this)[index + 3] << 24;
    return static_cast<std::int32_t>(value);
  }
  bool is(std::initializer_list<unsigned> wanted) const {
    std::size_t index = 0;
    for (const unsigned byte : wanted)
      if ((*this)[index++] != byte) return false;
    return true;
  }
  void advance(std::size_t count) { position_ += count; }
  // False once more instructions were passed than an epilogue has.
  bool plausible() const { return position_ + 8 <= max_epilogue; }
  Address address() const { return ip_ + position_; }

private:
  Address ip_;
  std::size_t size_, position_ = 0;
  std::array<std::byte, max_epilogue + 8> bytes_;
};

// add rsp, imm or lea rsp, [frame register + disp]; moves behind it.
void adjustment(EpilogueBytes& code, unsigned frame_register, RegisterOffset& sp) {
  if (code.is({0x48, 0x83, 0xC4})) {
    sp.offset += code.imm8(3);
    code.advance(4);
  } else if (code.is({0x48, 0x81, 0xC4})) {
    sp.offset += code.imm32(3);
    code.advance(7);
  } else if ((code[0] & 0xFE) == 0x48 && code[1] == 0x8D) {
    const unsigned base = (code[0] & 1) << 3 | (code[2] & 7);
    if (base == 0 || base != frame_register) return;
    if ((code[2] & 0xF8) == 0x60) {
      sp = {x64_dwarf_register(base), code.imm8(3)};
      code.advance(4);
    } else if ((code[2] & 0xF8) == 0xA0) {
      sp = {x64_dwarf_register(base), code.imm32(3)};
      code.advance(7);
    }
  }
}

// jmp [rip + disp32], and REX.W jmp: the JIT marks jumps out of a function with the redundant prefix.
bool jumps_indirectly(const EpilogueBytes& code) {
  if (code.is({0xFF, 0x25})) return true;
  return (code[0] & 0xF8) == 0x48 && code[1] == 0xFF && (code[2] & 0x38) == 0x20;
}

bool leaves_function(const EpilogueBytes& code, const X64FunctionRange& range,
                     const std::function<bool(Address)>& same_method) {
  if (code[0] == 0xC3 || code[0] == 0xC2 || code.is({0xF3, 0xC3})) return true;
  if (code[0] == 0xEB || code[0] == 0xE9) {
    const bool near = code[0] == 0xEB;
    const Address target =
        code.address() + (near ? 2 : 5) +
        static_cast<Address>(static_cast<std::int64_t>(near ? code.imm8(1) : code.imm32(1)));
    if (target == range.begin) return !range.chained; // calls itself
    if (target >= range.begin && target < range.end) return false;
    return !(same_method && same_method(target));
  }
  return jumps_indirectly(code);
}

// Moves behind the pop at the front; its register.
std::optional<unsigned> pop(EpilogueBytes& code) {
  if ((code[0] & 0xF8) == 0x58) {
    const unsigned reg = code[0] & 7;
    code.advance(1);
    return reg;
  }
  if ((code[0] & 0xF0) == 0x40 && (code[1] & 0xF8) == 0x58) {
    const unsigned reg = (code[0] & 1) << 3 | (code[1] & 7);
    code.advance(2);
    return reg;
  }
  return std::nullopt;
}

} // namespace

std::optional<FrameLayout> x64_epilogue_layout(MemoryReader& memory, Address ip, unsigned frame_register,
                                               const X64FunctionRange& range,
                                               const std::function<bool(Address)>& same_method) {
  EpilogueBytes code(memory, ip);
  FrameLayout layout;
  RegisterOffset sp{x64_register::rsp, 0};
  adjustment(code, frame_register, sp);
  for (; code.plausible(); sp.offset += 8) {
    const std::optional<unsigned> reg = pop(code);
    if (!reg) break;
    layout.save(x64_dwarf_register(*reg), sp);
  }
  if (!code.plausible()) return std::nullopt;
  if (code[0] == 0xF2) code.advance(1);
  if (!leaves_function(code, range, same_method)) return std::nullopt;
  layout.save(x64_register::rip, sp);
  layout.cfa = {sp.reg, sp.offset + 8};
  return layout;
}

bool x64_leaves_by_indirect_jump(MemoryReader& memory, Address ip) {
  try {
    EpilogueBytes code(memory, ip);
    RegisterOffset sp{x64_register::rsp, 0};
    adjustment(code, x64_machine_rbp, sp);
    while (code.plausible() && pop(code)) {
    }
    if (!code.plausible()) return false;
    if (code[0] == 0xF2) code.advance(1);
    return jumps_indirectly(code);
  } catch (const Error&) {
    return false;
  }
}

} // namespace clr
