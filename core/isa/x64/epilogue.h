// Recognises that an instruction lies in the epilogue of managed x64 code. Version 1 unwind information does
// not describe epilogues: the instructions themselves tell.
// Source: dotnet/runtime src/coreclr/unwinder/amd64/unwinder.cpp; Microsoft's x64 prolog and epilog document.
#pragma once

#include "core/isa/frame_layout.h"

#include <functional>

namespace clr {

struct X64FunctionRange {
  Address begin = 0;
  Address end = 0; // exclusive
  bool chained = false;
};

// The layout at `ip` when the instructions from there on are the rest of an epilogue: an adjustment of rsp,
// pops, and a return or a jump out of the function; else nothing. `frame_register` is the machine number from
// the unwind information. A jump to an address outside of `range` for which `same_method` (may be empty) is
// true, or to the start of a chained part, stays within the function. Cost: 1 read. Throws
// Error{memory_missing} when the instructions that decide are not there.
std::optional<FrameLayout> x64_epilogue_layout(MemoryReader& memory, Address ip, unsigned frame_register,
                                               const X64FunctionRange& range,
                                               const std::function<bool(Address)>& same_method);

// The instructions from `ip` on are the rest of an epilogue that ends with a jump through a register or
// memory: LLDB, which works out other epilogues itself, takes the code before it for what holds there. False
// when they cannot be read. Cost: 1 read.
bool x64_leaves_by_indirect_jump(MemoryReader& memory, Address ip);

} // namespace clr
