#include "core/dwarf/guessed_frame.h"

#include "core/dwarf/choice.h"
#include "core/isa/registers.h"

#include <array>
#include <dwarf.h>

namespace clr {
namespace {

constexpr std::int64_t word = 8;

// A form of the call instruction in the 8 bytes that end with it, as a little-endian integer: its opcode
// stands at bit `shift`. NativeUnwinder::follows_call knows forms that a mask does not tell too.
struct CallForm {
  unsigned shift = 0;
  std::uint16_t mask = 0xFFFF, opcode = 0;
};
constexpr std::array<CallForm, 7> call_forms{{
    {24, 0x00FF, 0x00E8}, // call rel32
    {16, 0xFFFF, 0x15FF}, // call [rip + disp32]
    {48, 0xF8FF, 0xD0FF}, // call reg
    {48, 0xF8FF, 0x10FF}, // call [reg]
    {40, 0xF8FF, 0x50FF}, // call [reg + disp8]
    {16, 0xF8FF, 0x90FF}, // call [reg + disp32]
    {32, 0xFFFF, 0x54FF}, // call [r12 or rsp + disp8]
}};
constexpr unsigned call_bytes = 8; // that are looked at

// Leaves one value: not 0 when the top of the stack holds a return address.
DwarfBytes guess(const Platform& platform) {
  DwarfBytes to(platform);
  write_register_value(to, x64_register::rsp, 0);
  to.u8(DW_OP_deref);
  to.u8(DW_OP_lit0 + call_bytes);
  to.u8(DW_OP_minus);
  to.u8(DW_OP_deref);
  to.u8(DW_OP_lit0); // no form so far
  for (const CallForm& form : call_forms) {
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
  return to;
}

} // namespace

bool can_guess_frames(Cpu cpu) {
  return cpu == Cpu::x64; // the expressions below compare the bytes of x64 calls
}

DwarfBytes guessed_cfa(const Platform& platform) {
  DwarfBytes return_on_top(platform), framed(platform);
  write_register_value(return_on_top, x64_register::rsp, word);
  write_register_value(framed, x64_register::rbp, 2 * word);
  return choice(platform, guess(platform), return_on_top, framed);
}

DwarfBytes guessed_frame_pointer(const Platform& platform) {
  DwarfBytes return_on_top(platform), framed(platform);
  write_register_value(return_on_top, x64_register::rbp, 0);
  write_register_value(framed, x64_register::rbp, 0);
  framed.u8(DW_OP_deref);
  return choice(platform, guess(platform), return_on_top, framed);
}

} // namespace clr
