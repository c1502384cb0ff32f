// Translates the numbers of stub code kinds in target memory.
// Source: dotnet/runtime src/coreclr/vm/codeman.h (StubCodeBlockKind), which was renumbered after .NET 10.
#pragma once

#include "core/execution/code_block.h"
#include "core/target/target.h"

namespace clr {

// The kind that the value `stored` means in this target's runtime. A type that only newer descriptors have
// tells which numbering it uses.
StubKind stub_kind_of(const Target& target, std::uint64_t stored);

} // namespace clr
