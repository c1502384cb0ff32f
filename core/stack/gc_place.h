// Where the words of a frame lie that GC info names. Source: dotnet/runtime src/coreclr/vm/gcinfodecoder.cpp
// (GetStackSlot).
#pragma once

#include "core/execution/gc_header.h"
#include "core/stack/managed_unwinder.h"
#include "core/stack/walker.h"

#include <optional>

namespace clr {

// The address of the word at `offset` from `base` in the managed frame `frame`, whose body has `header`.
// Nothing when the register that it counts from is not known. Throws as ManagedUnwinder::layout does for the
// caller's SP. Cost: none, or that of the layout.
std::optional<Address> gc_place(ManagedUnwinder& unwinder, const StackFrame& frame, const GcHeader& header,
                                GcBase base, std::int64_t offset);

} // namespace clr
