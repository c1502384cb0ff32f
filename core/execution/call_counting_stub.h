// Call counting stubs: while the calls of a method at tier 0 are counted, its callers go through such a stub.
// Runtimes before .NET 11 have no range section for the stubs, so they can be recognised only by their code.
// Source: dotnet/runtime src/coreclr/vm/callcounting.h, src/coreclr/vm/amd64/thunktemplates.asm.
#pragma once

#include "core/memory/memory_reader.h"

#include <optional>

namespace clr {

// The code to which the stub at `ip` jumps; `ip` may be any instruction of the stub. Nothing when there is no
// such stub. x64 only. Never throws. Cost: at a stub's first instruction 1 read, and 1 for the cell;
// elsewhere up to 5.
std::optional<Address> call_counting_target(MemoryReader& memory, Cpu cpu, Address ip);

} // namespace clr
