// Rules of unwinding for code of which nothing is known but that it is code: a DWARF expression looks at the
// stack. Source: DWARF 4 sections 2.5.1 and 6.4.2; System V ABI, AMD64, section 3.2.2 (the stack frame).
#pragma once

#include "core/dwarf/bytes.h"

namespace clr {

// True for a CPU with such rules: so far x64, where a return address on the stack can be told by the call
// before it.
bool can_guess_frames(Cpu cpu);

// Where the top of the stack holds a return address (a call instruction stands before it) this is a
// function's first instruction, or a stub: the return address is all there is of the frame. Elsewhere the
// frame is the one that a frame pointer in rbp points to. Before the value that is asked for, an expression
// reads 2 words of the target.
DwarfBytes guessed_cfa(const Platform& platform);
// The caller's rbp by the same guess.
DwarfBytes guessed_frame_pointer(const Platform& platform);

} // namespace clr
