// The facts about a process or core besides its memory: threads with registers, modules, files. This is the
// core library's own form; ElfCore or the LLDB adapter fills it in.
#pragma once

#include "core/memory/loaded_module.h"
#include "core/memory/memory_reader.h"

#include <cstdint>
#include <string>
#include <vector>

namespace clr {

// General registers of one thread, by the CPU's own numbering:
// x64: the DWARF numbers 0..16 (rax rdx rcx rbx rsi rdi rbp rsp r8..r15 rip); arm64: x0..x30, sp, pc, (cpsr).
struct ThreadRegisters {
  std::uint64_t os_id = 0; // kernel thread id
  std::vector<std::uint64_t> values;
  int signal = 0; // number of the signal that stopped it; 0 none
};

} // namespace clr
