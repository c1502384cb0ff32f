// Kinds of stub code blocks as the runtime numbers them in memory.
// Source: dotnet/runtime src/coreclr/vm/codeman.h (StubCodeBlockKind), which was renumbered after .NET 10.
#pragma once

#include "core/execution/code_block.h"
#include "core/target/target.h"

namespace clr {

// The kind that `stored` means to this target's runtime. The numbering is known by a type that only later
// descriptors have.
StubKind stub_kind_of(const Target& target, std::uint64_t stored);

} // namespace clr
