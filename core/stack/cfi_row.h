// The rules of DWARF call frame information at one instruction, and their evaluation.
// Source: DWARF 5 section 6.4.1.
#pragma once

#include "core/isa/frame_layout.h"

#include <elfutils/libdw.h>

#include <variant>
#include <vector>

namespace clr {

// Rows that need more than saves relative to the CFA: PLT entries, signal trampolines, hand-written assembly.
struct CfiExpressions {
  struct Rule {
    unsigned reg = 0;
    std::vector<Dwarf_Op> ops; // empty: the caller's value is lost
  };
  std::vector<Dwarf_Op> cfa;
  std::vector<Rule> rules;     // registers without a rule keep their value if they are callee-saved
  unsigned return_address = 0; // register whose caller's value is the pc
  bool interrupted = false;    // a signal frame: the caller's pc is exact
};

// Almost every row is a plain layout.
using CfiRow = std::variant<FrameLayout, CfiExpressions>;

// Takes the rules out of libdw's frame. Throws Error{corrupt} for a row that does not tell the CFA or the
// return address.
CfiRow cfi_row(Dwarf_Frame& frame, Cpu cpu);

// Cost: a layout one read; expressions one for each saved register. Throws Error as apply_layout and
// evaluate_dwarf do.
Unwound apply_cfi_row(MemoryReader& memory, const CfiRow& row, const RegisterContext& context);

} // namespace clr
