// Recognises the code to which a signal handler returns, and where the interrupted registers lie then.
// Source: Linux arch/{x86,arm64} signal.c (struct rt_sigframe), uapi asm/sigcontext.h.
#pragma once

#include "core/isa/frame_layout.h"

namespace clr {

// The layout when the instructions at `pc` are the CPU's `rt_sigreturn` system call trampoline of Linux,
// which carries no call frame information in musl, in qemu's user mode and in old kernels. Cost: 1 read. Code
// that cannot be read is no trampoline; nor is any for a CPU whose trampoline is not known.
std::optional<FrameLayout> signal_frame_layout(MemoryReader& memory, const Architecture& architecture,
                                               Address pc);

} // namespace clr
