// Call counting stubs: callers of a method at tier 0 go through one while its calls are counted. Runtimes
// before .NET 11 have no range section for them, so only their code tells.
// Source: dotnet/runtime src/coreclr/vm/callcounting.h, src/coreclr/vm/amd64/thunktemplates.asm.
#pragma once

#include "core/memory/memory_reader.h"

#include <optional>

namespace clr {

// The code that the stub at `ip`, which may be any instruction of it, goes on to; nothing when there is no
// such stub, or its code on this CPU is not known (Architecture::call_counting_stub). Never throws. Cost: 1
// read at a stub's first instruction and 1 for the cell, elsewhere up to 5.
std::optional<Address> call_counting_target(MemoryReader& memory, Cpu cpu, Address ip);

} // namespace clr
