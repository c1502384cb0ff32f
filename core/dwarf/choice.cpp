#include "core/dwarf/choice.h"

#include <dwarf.h>

namespace clr {
namespace {

// Leaves a value that is not 0 in the frame of `interruption`.
DwarfBytes is_interrupted_frame(const Platform& platform, const DebugInterruption& interruption) {
  DwarfBytes to(platform);
  write_register_value(to, register_roles(platform.cpu).sp, 0);
  to.u8(DW_OP_constu);
  if (interruption.other_stack == 0) {
    to.uleb(interruption.registers.sp().value_or(0));
  } else {
    to.uleb(interruption.other_stack);
    to.u8(DW_OP_minus);
    // Not DW_OP_lt, which has a sign.
    to.u8(DW_OP_const1u);
    to.u8(other_stack_shift);
    to.u8(DW_OP_shr);
    to.u8(DW_OP_lit0);
  }
  to.u8(DW_OP_eq);
  return to;
}

} // namespace

void write_register_value(DwarfBytes& to, unsigned reg, std::int64_t offset) {
  if (reg < short_registers) {
    to.u8(DW_OP_breg0 + reg);
  } else { // arm64: pc
    to.u8(DW_OP_bregx);
    to.uleb(reg);
  }
  to.sleb(offset);
}

void write_register_constant(DwarfBytes& to, const Platform& platform, std::uint64_t value) {
  write_register_value(to, register_roles(platform.cpu).sp, 0);
  to.u8(DW_OP_lit0);
  to.u8(DW_OP_mul);
  to.u8(DW_OP_constu);
  to.uleb(platform.wrap(value));
  to.u8(DW_OP_plus);
}

DwarfBytes choice(const Platform& platform, const DwarfBytes& condition, const DwarfBytes& yes,
                  const DwarfBytes& no) {
  constexpr std::size_t skip_size = 3;
  DwarfBytes to(platform);
  to.append(condition.bytes());
  to.u8(DW_OP_bra);
  to.u16(no.size() + skip_size);
  to.append(no.bytes());
  to.u8(DW_OP_skip);
  to.u16(yes.size());
  to.append(yes.bytes());
  to.u8(DW_OP_nop); // LLDB 14 and 15 refuse to skip to the end of an expression
  return to;
}

bool is_restored(const DebugInterruption& interruption, unsigned reg) {
  const RegisterRoles roles = register_roles(interruption.registers.cpu());
  const bool here = reg == roles.fp || reg == roles.pc || (reg == roles.sp && interruption.other_stack == 0);
  return here && (interruption.next == nullptr || is_restored(*interruption.next, reg));
}

DwarfBytes interrupted_value(const Platform& platform, const DebugInterruption& interruption, unsigned reg,
                             std::int64_t offset) {
  DwarfBytes known(platform), as_it_is(platform);
  const DebugInterruption* const next = interruption.next.get();
  if (next != nullptr && next->registers.known(reg))
    as_it_is = interrupted_value(platform, *next, reg, offset);
  else
    write_register_value(as_it_is, reg, offset);
  if (is_restored(interruption, reg)) return as_it_is;
  write_register_constant(known, platform,
                          interruption.registers.get(reg) + static_cast<std::uint64_t>(offset));
  return choice(platform, is_interrupted_frame(platform, interruption), known, as_it_is);
}

} // namespace clr
