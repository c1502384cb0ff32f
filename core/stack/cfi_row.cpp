#include "core/stack/cfi_row.h"

#include "core/stack/dwarf_expression.h"

#include <dwarf.h>
#include <fmt/format.h>

#include <algorithm>

namespace clr {
namespace {

// The rule that libdw tells of one register.
struct RegisterRule {
  enum class Kind { same_value, undefined, expression } kind = Kind::same_value;
  std::vector<Dwarf_Op> ops;
};

RegisterRule rule_of(Dwarf_Frame& frame, Cpu cpu, unsigned reg) {
  Dwarf_Op memory[3];
  Dwarf_Op* ops = nullptr;
  std::size_t count = 0;
  if (dwarf_frame_register(&frame, static_cast<int>(reg), memory, &ops, &count) != 0)
    throw Error(ErrorKind::corrupt, fmt::format("call frame information: {}", dwarf_errmsg(-1)));
  if (count != 0) return {RegisterRule::Kind::expression, {ops, ops + count}};
  // libdw says "undefined" of registers without a rule too, unless its table of the ABI has them. The x64
  // table names rax where it means rbx (elfutils 0.188, backends/x86_64_cfi.c).
  const bool same = ops == nullptr || (cpu == Cpu::x64 && reg == x64_register::rbx);
  return {same ? RegisterRule::Kind::same_value : RegisterRule::Kind::undefined, {}};
}

std::vector<Dwarf_Op> cfa_ops(Dwarf_Frame& frame) {
  Dwarf_Op* ops = nullptr;
  std::size_t count = 0;
  if (dwarf_frame_cfa(&frame, &ops, &count) != 0 || count == 0)
    throw Error(ErrorKind::corrupt, "call frame information that does not tell the CFA");
  return {ops, ops + count};
}

std::optional<RegisterOffset> plain_cfa(std::span<const Dwarf_Op> ops) {
  if (ops.size() != 1) return std::nullopt;
  const Dwarf_Op& op = ops[0];
  if (op.atom == DW_OP_bregx && op.number < RegisterContext::max_registers)
    return RegisterOffset{static_cast<unsigned>(op.number), static_cast<std::int64_t>(op.number2)};
  if (op.atom >= DW_OP_breg0 && op.atom <= DW_OP_breg31)
    return RegisterOffset{static_cast<unsigned>(op.atom - DW_OP_breg0), static_cast<std::int64_t>(op.number)};
  return std::nullopt;
}

// The offset of a register that is saved at CFA + offset.
std::optional<std::int64_t> plain_save(std::span<const Dwarf_Op> ops) {
  if (ops.empty() || ops[0].atom != DW_OP_call_frame_cfa) return std::nullopt;
  if (ops.size() == 1) return 0;
  if (ops.size() == 2 && ops[1].atom == DW_OP_plus_uconst) return static_cast<std::int64_t>(ops[1].number);
  return std::nullopt;
}

// The usual rule of sp: it is the CFA.
bool is_cfa_itself(std::span<const Dwarf_Op> ops) {
  return ops.size() == 2 && ops[0].atom == DW_OP_call_frame_cfa && ops[1].atom == DW_OP_stack_value;
}

// The rule "the caller's value is in another register".
std::optional<unsigned> other_register(std::span<const Dwarf_Op> ops) {
  if (ops.size() != 1) return std::nullopt;
  if (ops[0].atom == DW_OP_regx) return static_cast<unsigned>(std::min<Dwarf_Word>(ops[0].number, 0xFFFF));
  if (ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31)
    return static_cast<unsigned>(ops[0].atom - DW_OP_reg0);
  return std::nullopt;
}

// Offsets come from the file and may be anything.
std::int64_t wrapping_sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

Unwound apply_expressions(MemoryReader& memory, const CfiExpressions& row, const RegisterContext& context) {
  const RegisterRoles& roles = context.architecture().roles;
  Unwound result;
  result.found_by = FoundBy::cfi;
  result.interrupted = row.interrupted;
  result.cfa = evaluate_dwarf(row.cfa, context, std::nullopt, memory).value;
  result.caller = context;
  if (!row.interrupted) result.caller.forget_volatile();
  result.caller.set_sp(result.cfa);
  auto return_address = context.find(row.return_address);
  for (const CfiExpressions::Rule& rule : row.rules) {
    const bool needed = rule.reg == row.return_address || rule.reg == roles.sp;
    std::optional<std::uint64_t> value;
    if (const auto other = other_register(rule.ops)) {
      value = context.find(*other);
    } else if (!rule.ops.empty()) {
      const DwarfValue place = evaluate_dwarf(rule.ops, context, result.cfa, memory);
      std::byte raw[8];
      if (!place.is_address) {
        value = place.value;
      } else if (memory.read_some(place.value, raw) == sizeof raw) {
        value = load<std::uint64_t>(raw, ByteOrder::little);
        if (rule.reg == row.return_address) result.return_address_at = place.value;
      } else if (needed) {
        memory.read(place.value, raw); // tells which byte
      }
    }
    if (rule.reg == row.return_address) return_address = value;
    if (value)
      result.caller.set(rule.reg, *value);
    else
      result.caller.forget(rule.reg);
  }
  if (!return_address)
    throw Error(ErrorKind::register_unknown, "the register that holds the return address is not known");
  result.caller.set_pc(strip_return_address(context.cpu(), *return_address));
  if (!row.interrupted && roles.return_address != roles.pc) result.caller.forget(roles.return_address);
  return result;
}

} // namespace

CfiRow cfi_row(Dwarf_Frame& frame, Cpu cpu) {
  const RegisterRoles& roles = register_roles(cpu);
  CfiExpressions row;
  const int return_address = dwarf_frame_info(&frame, nullptr, nullptr, &row.interrupted);
  if (return_address < 0 || static_cast<unsigned>(return_address) >= roles.count)
    throw Error(ErrorKind::corrupt, "call frame information that does not tell the return address");
  row.return_address = static_cast<unsigned>(return_address);

  FrameLayout layout;
  layout.interrupted = row.interrupted;
  const RegisterRule ra_rule = rule_of(frame, cpu, row.return_address);
  if (ra_rule.kind == RegisterRule::Kind::undefined) {
    layout.outermost = true;
    layout.cfa = {roles.sp, 0};
    return layout;
  }
  if (ra_rule.kind == RegisterRule::Kind::same_value && row.return_address == roles.pc)
    throw Error(ErrorKind::corrupt, "call frame information that does not tell the return address");

  row.cfa = cfa_ops(frame);
  const auto cfa = plain_cfa(row.cfa);
  bool plain = cfa.has_value() && (row.return_address == roles.return_address);
  if (cfa) layout.cfa = *cfa;
  for (unsigned reg = 0; reg < roles.count; ++reg) {
    // arm64's pc column is not a register of the frame, except where a signal frame uses it.
    if (reg == roles.pc && reg != row.return_address) continue;
    RegisterRule rule = reg == row.return_address ? ra_rule : rule_of(frame, cpu, reg);
    if (rule.kind == RegisterRule::Kind::same_value) continue;
    if (reg == roles.sp && (is_cfa_itself(rule.ops) || rule.kind == RegisterRule::Kind::undefined)) continue;
    if (rule.kind == RegisterRule::Kind::undefined) {
      // A call loses the volatile registers anyhow.
      if (!row.interrupted && !is_callee_saved(cpu, reg)) continue;
      plain = false;
    } else if (const auto offset = plain_save(rule.ops); plain && offset && reg != roles.sp) {
      layout.save(reg, {layout.cfa.reg, wrapping_sum(layout.cfa.offset, *offset)});
    } else {
      plain = false;
    }
    row.rules.push_back({reg, std::move(rule.ops)});
  }
  if (plain) return layout;
  return row;
}

Unwound apply_cfi_row(MemoryReader& memory, const CfiRow& row, const RegisterContext& context) {
  if (const auto* layout = std::get_if<FrameLayout>(&row))
    return apply_layout(memory, *layout, context, FoundBy::cfi);
  return apply_expressions(memory, std::get<CfiExpressions>(row), context);
}

} // namespace clr
