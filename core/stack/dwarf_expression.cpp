#include "core/stack/dwarf_expression.h"

#include <dwarf.h>
#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace clr {
namespace {

class Machine {
public:
  Machine(std::span<const Dwarf_Op> ops, const RegisterContext& context, std::optional<Address> cfa,
          MemoryReader& memory)
      : ops_(ops), context_(&context), cfa_(cfa), memory_(&memory) {}

  DwarfValue run() {
    for (std::size_t steps = 0; next_ < ops_.size(); ++steps) {
      if (steps == max_dwarf_steps)
        throw Error(ErrorKind::corrupt,
                    fmt::format("a DWARF expression of more than {} steps", max_dwarf_steps));
      const Dwarf_Op& op = ops_[next_++];
      if (op.atom == DW_OP_stack_value) return {top(), false};
      step(op);
    }
    return {top(), true};
  }

private:
  void step(const Dwarf_Op& op) {
    const unsigned atom = op.atom;
    if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31)
      push(atom - DW_OP_lit0);
    else if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31)
      push(context_->get(atom - DW_OP_breg0) + op.number);
    else if (!constant(op) && !shuffle(op) && !unary(op) && !binary(op) && !control(op))
      throw Error(ErrorKind::unsupported_contract,
                  fmt::format("DWARF operation {:#x} in call frame information", atom));
  }

  bool constant(const Dwarf_Op& op) {
    switch (op.atom) {
    case DW_OP_const1u:
    case DW_OP_const1s:
    case DW_OP_const2u:
    case DW_OP_const2s:
    case DW_OP_const4u:
    case DW_OP_const4s:
    case DW_OP_const8u:
    case DW_OP_const8s:
    case DW_OP_constu:
    case DW_OP_consts:
      push(op.number); // libdw has extended the sign
      return true;
    case DW_OP_bregx:
      push(context_->get(static_cast<unsigned>(std::min<Dwarf_Word>(op.number, 0xFFFF))) + op.number2);
      return true;
    case DW_OP_call_frame_cfa:
      if (!cfa_) throw Error(ErrorKind::corrupt, "the rule of the CFA asks for the CFA");
      push(*cfa_);
      return true;
    default:
      return false;
    }
  }

  bool shuffle(const Dwarf_Op& op) {
    switch (op.atom) {
    case DW_OP_dup:
      push(top());
      return true;
    case DW_OP_drop:
      pop();
      return true;
    case DW_OP_over:
      push(at(1));
      return true;
    case DW_OP_pick:
      push(at(op.number));
      return true;
    case DW_OP_swap:
      std::swap(at(0), at(1));
      return true;
    case DW_OP_rot: {
      const std::uint64_t first = at(0);
      at(0) = at(1);
      at(1) = at(2);
      at(2) = first;
      return true;
    }
    default:
      return false;
    }
  }

  bool unary(const Dwarf_Op& op) {
    switch (op.atom) {
    case DW_OP_deref:
      at(0) = dereference(top(), 8);
      return true;
    case DW_OP_deref_size:
      at(0) = dereference(top(), op.number);
      return true;
    case DW_OP_abs:
      if (static_cast<std::int64_t>(top()) < 0) at(0) = 0 - top();
      return true;
    case DW_OP_neg:
      at(0) = 0 - top();
      return true;
    case DW_OP_not:
      at(0) = ~top();
      return true;
    case DW_OP_plus_uconst:
      at(0) += op.number;
      return true;
    case DW_OP_nop:
      return true;
    default:
      return false;
    }
  }

  bool binary(const Dwarf_Op& op) {
    if (op.atom < DW_OP_abs || op.atom > DW_OP_ne || op.atom == DW_OP_bra) return false;
    const std::uint64_t b = pop(), a = pop();
    const auto sa = static_cast<std::int64_t>(a), sb = static_cast<std::int64_t>(b);
    switch (op.atom) {
    case DW_OP_and:
      push(a & b);
      break;
    case DW_OP_div:
      if (b == 0) throw Error(ErrorKind::corrupt, "a DWARF expression divides by zero");
      // The one quotient that does not fit.
      push(sb == -1 ? 0 - a : static_cast<std::uint64_t>(sa / sb));
      break;
    case DW_OP_minus:
      push(a - b);
      break;
    case DW_OP_mod:
      if (b == 0) throw Error(ErrorKind::corrupt, "a DWARF expression divides by zero");
      push(a % b);
      break;
    case DW_OP_mul:
      push(a * b);
      break;
    case DW_OP_or:
      push(a | b);
      break;
    case DW_OP_plus:
      push(a + b);
      break;
    case DW_OP_shl:
      push(b < 64 ? a << b : 0);
      break;
    case DW_OP_shr:
      push(b < 64 ? a >> b : 0);
      break;
    case DW_OP_shra:
      push(static_cast<std::uint64_t>(sa >> std::min<std::uint64_t>(b, 63)));
      break;
    case DW_OP_xor:
      push(a ^ b);
      break;
    case DW_OP_eq:
      push(sa == sb);
      break;
    case DW_OP_ge:
      push(sa >= sb);
      break;
    case DW_OP_gt:
      push(sa > sb);
      break;
    case DW_OP_le:
      push(sa <= sb);
      break;
    case DW_OP_lt:
      push(sa < sb);
      break;
    case DW_OP_ne:
      push(sa != sb);
      break;
    default:
      return false;
    }
    return true;
  }

  bool control(const Dwarf_Op& op) {
    if (op.atom != DW_OP_bra && op.atom != DW_OP_skip) return false;
    if (op.atom == DW_OP_bra && pop() == 0) return true;
    // The distance counts from behind the operation: one byte and two of operand.
    const Dwarf_Word target = op.offset + 3 + op.number;
    const auto it = std::ranges::find(ops_, target, &Dwarf_Op::offset);
    if (it == ops_.end()) throw Error(ErrorKind::corrupt, "a DWARF expression jumps to nowhere");
    next_ = static_cast<std::size_t>(it - ops_.begin());
    return true;
  }

  std::uint64_t dereference(Address address, Dwarf_Word size) {
    if (size == 0 || size > 8) throw Error(ErrorKind::corrupt, fmt::format("a DWARF read of {} bytes", size));
    std::byte raw[8]{};
    memory_->read(address, std::span(raw).first(size));
    return load<std::uint64_t>(raw, ByteOrder::little);
  }

  void push(std::uint64_t value) {
    if (stack_.size() == max_dwarf_stack)
      throw Error(ErrorKind::corrupt, fmt::format("a DWARF stack deeper than {}", max_dwarf_stack));
    stack_.push_back(value);
  }
  std::uint64_t pop() {
    const std::uint64_t value = top();
    stack_.pop_back();
    return value;
  }
  std::uint64_t& at(Dwarf_Word depth) {
    if (depth >= stack_.size()) throw Error(ErrorKind::corrupt, "a DWARF expression empties its stack");
    return stack_[stack_.size() - 1 - depth];
  }
  std::uint64_t top() { return at(0); }

  std::span<const Dwarf_Op> ops_;
  const RegisterContext* context_;
  std::optional<Address> cfa_;
  MemoryReader* memory_;
  std::size_t next_ = 0;
  std::vector<std::uint64_t> stack_;
};

} // namespace

DwarfValue evaluate_dwarf(std::span<const Dwarf_Op> ops, const RegisterContext& context,
                          std::optional<Address> cfa, MemoryReader& memory) {
  return Machine(ops, context, cfa, memory).run();
}

} // namespace clr
