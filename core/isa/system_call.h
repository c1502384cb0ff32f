// Whether a thread stands in the kernel.
#pragma once

#include "core/memory/memory_reader.h"
#include "core/memory/platform.h"

#include <optional>

namespace clr {

// Whether the instruction before `pc` calls the system: a thread that stands there waits in the kernel, or is
// about to leave it. Nothing for a CPU whose instruction is not known, and when memory is missing. 1 read.
std::optional<bool> stands_behind_system_call(MemoryReader& memory, Cpu cpu, Address pc);

// Whether that call gave up the processor and nothing else (sched_yield): a thread that stands there could
// run. False also where neither is known. 1 read.
bool stands_behind_yield(MemoryReader& memory, Cpu cpu, Address pc);

} // namespace clr
