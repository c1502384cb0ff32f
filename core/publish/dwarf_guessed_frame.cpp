#include "core/publish/dwarf_guessed_frame.h"

#include "core/stack/call_site.h"
#include "core/stack/registers.h"

#include <dwarf.h>

namespace clr {
namespace {

constexpr std::int64_t word = 8;

void breg(DwarfBytes& to, unsigned reg, std::int64_t offset) {
  to.u8(DW_OP_breg0 + reg);
  to.sleb(offset);
}

// Leaves one value: not 0 when the top of the stack holds a return address.
void write_guess(DwarfBytes& to) {
  breg(to, x64_register::rsp, 0);
  to.u8(DW_OP_deref);
  to.u8(DW_OP_lit0 + x64_call_bytes);
  to.u8(DW_OP_minus);
  to.u8(DW_OP_deref);
  to.u8(DW_OP_lit0); // no form so far
  for (const CallForm& form : x64_call_forms) {
    to.u8(DW_OP_over);
    to.u8(DW_OP_const1u);
    to.u8(form.shift);
    to.u8(DW_OP_shr);
    to.u8(DW_OP_const2u);
    to.u16(form.mask);
    to.u8(DW_OP_and);
    to.u8(DW_OP_const2u);
    to.u16(form.opcode);
    to.u8(DW_OP_eq);
    to.u8(DW_OP_or);
  }
  to.u8(DW_OP_swap);
  to.u8(DW_OP_drop);
}

// The guess, and the value that goes with it.
DwarfBytes choose(const Platform& platform, const DwarfBytes& return_on_top, const DwarfBytes& framed) {
  constexpr std::size_t skip_size = 3;
  DwarfBytes to(platform);
  write_guess(to);
  to.u8(DW_OP_bra);
  to.u16(framed.size() + skip_size);
  to.append(framed.bytes());
  to.u8(DW_OP_skip);
  to.u16(return_on_top.size());
  to.append(return_on_top.bytes());
  return to;
}

} // namespace

DwarfBytes guessed_cfa(const Platform& platform) {
  DwarfBytes return_on_top(platform), framed(platform);
  breg(return_on_top, x64_register::rsp, word);
  breg(framed, x64_register::rbp, 2 * word);
  return choose(platform, return_on_top, framed);
}

DwarfBytes guessed_frame_pointer(const Platform& platform) {
  DwarfBytes return_on_top(platform), framed(platform);
  breg(return_on_top, x64_register::rbp, 0);
  breg(framed, x64_register::rbp, 0);
  framed.u8(DW_OP_deref);
  return choose(platform, return_on_top, framed);
}

} // namespace clr
