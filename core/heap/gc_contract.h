// The collector's heaps by the contract GC, which .NET 11's collector publishes in a descriptor of its own.
// Source: dotnet/runtime docs/design/datacontracts/GC.md; src/coreclr/gc/datadescriptor/datadescriptor.inc.
#pragma once

#include "core/heap/gc_state.h"

namespace clr {

// Throws Error{unsupported_contract} when the contract cannot be read or a layout is missing;
// Error{memory_missing, corrupt}. Cost: some 6 reads, and 4 for each heap of a server collector.
GcState read_gc_contract(const Target& target);

} // namespace clr
