#include "core/stack/cfi_program.h"

#include "core/memory/error.h"
#include "core/stack/cfi_cursor.h"

#include <dwarf.h>
#include <fmt/format.h>

#include <algorithm>

namespace clr {
namespace {

// Instructions that the headers of older elfutils do not name.
constexpr unsigned cfa_negate_ra_state_with_pc = 0x2C;
constexpr unsigned primary_mask = 0xC0, operand_mask = 0x3F;
constexpr std::uint64_t work_per_expression_byte = 32;
// Registers of the ABI, for which a state always has room, and how many of them one step copies.
constexpr std::uint64_t abi_registers = 64, registers_per_step = 8;

class CfiScanner {
public:
  CfiScanner(std::span<const std::byte> program, bool plain_addresses)
      : rest_(program), plain_addresses_(plain_addresses) {}

  std::uint64_t work() {
    while (!rest_.done()) pass_instruction();
    return work_ + rest_.passed();
  }

private:
  void pass_instruction() {
    const unsigned opcode = rest_.byte();
    switch (opcode & primary_mask) {
    case DW_CFA_advance_loc:
      return;
    case DW_CFA_offset:
      name(opcode & operand_mask);
      rest_.uleb();
      return;
    case DW_CFA_restore:
      name(opcode & operand_mask);
      return;
    default:
      pass_extended(opcode);
    }
  }

  void pass_extended(unsigned opcode) {
    switch (opcode) {
    case DW_CFA_nop:
    case DW_CFA_GNU_window_save: // for AArch64 this is DW_CFA_AARCH64_negate_ra_state
    case cfa_negate_ra_state_with_pc:
      return;
    case DW_CFA_set_loc:
      if (!plain_addresses_) refuse("an address that is no offset from the one before");
      return rest_.skip(8);
    case DW_CFA_advance_loc1:
      return rest_.skip(1);
    case DW_CFA_advance_loc2:
      return rest_.skip(2);
    case DW_CFA_advance_loc4:
      return rest_.skip(4);
    case DW_CFA_MIPS_advance_loc8:
      return rest_.skip(8);
    case DW_CFA_restore_extended:
    case DW_CFA_undefined:
    case DW_CFA_same_value:
    case DW_CFA_def_cfa_register:
      return name(rest_.uleb());
    case DW_CFA_offset_extended:
    case DW_CFA_offset_extended_sf:
    case DW_CFA_val_offset:
    case DW_CFA_val_offset_sf:
    case DW_CFA_def_cfa:
    case DW_CFA_def_cfa_sf:
    case DW_CFA_GNU_negative_offset_extended:
      name(rest_.uleb());
      rest_.uleb(); // a signed one has the same bytes
      return;
    case DW_CFA_register:
      name(rest_.uleb());
      return name(rest_.uleb());
    case DW_CFA_def_cfa_offset:
    case DW_CFA_def_cfa_offset_sf:
    case DW_CFA_GNU_args_size:
      rest_.uleb();
      return;
    case DW_CFA_remember_state:
      if (++remembered_ > max_cfi_remembered)
        refuse(fmt::format("more than {} states that are remembered", max_cfi_remembered));
      work_ += (abi_registers + registers_) / registers_per_step;
      return;
    case DW_CFA_restore_state:
      remembered_ -= std::min(remembered_, 1u);
      return;
    case DW_CFA_def_cfa_expression:
      return pass_expression();
    case DW_CFA_expression:
    case DW_CFA_val_expression:
      name(rest_.uleb());
      return pass_expression();
    default:
      refuse(fmt::format("the unknown instruction {:#x}", opcode));
    }
  }

  void name(std::uint64_t reg) {
    if (reg >= max_cfi_registers) refuse(fmt::format("register {}", reg));
    registers_ = std::max(registers_, reg + 1);
  }
  void pass_expression() {
    const std::uint64_t size = rest_.uleb();
    if (size > max_cfi_expression) refuse(fmt::format("an expression of {} bytes", size));
    rest_.skip(size);
    work_ += size * work_per_expression_byte;
  }
  [[noreturn]] static void refuse(std::string_view what) {
    throw Error(ErrorKind::corrupt, fmt::format("call frame information with {}", what));
  }

  CfiCursor rest_;
  bool plain_addresses_;
  std::uint64_t registers_ = 0, work_ = 0;
  unsigned remembered_ = 0;
};

} // namespace

std::uint64_t work_of_cfi_program(std::span<const std::byte> program, bool plain_addresses) {
  if (program.size() > max_cfi_program)
    throw Error(ErrorKind::corrupt,
                fmt::format("call frame information with a program of {} bytes", program.size()));
  return CfiScanner(program, plain_addresses).work();
}

} // namespace clr
