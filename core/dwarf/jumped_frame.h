// Rules of unwinding for frames whose callers are known one by one: a DWARF expression chooses by the stack
// pointer. Source: DWARF 4 sections 2.5.1 and 6.4.2.
#pragma once

#include "core/dwarf/bytes.h"
#include "core/isa/frame_jump.h"

#include <span>

namespace clr {

// What `reg` is in the caller, in the frame of each of `jumps`; in any other frame the value that `other`
// leaves. The jumps must be ascending by their stack pointers, each once, and know the register. A debugger
// makes some four comparisons more for twice as many jumps.
DwarfBytes jumped_value(const Platform& platform, std::span<const FrameJump> jumps, unsigned reg,
                        const DwarfBytes& other);

} // namespace clr
