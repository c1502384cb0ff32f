// The tables of handles by .NET 11's contract GC.
// Source: dotnet/runtime docs/design/datacontracts/GC.md; src/coreclr/gc/handletablepriv.h.
#pragma once

#include "core/heap/gc_handles.h"

namespace clr {

// As read_handles. Throws Error{unsupported_contract} when a layout is missing.
GcHandles read_handles_by_contract(const Target& target, const GcState& state);

} // namespace clr
