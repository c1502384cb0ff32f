// The collector of a synthetic runtime as .NET 11 describes it: by the contract GC, in place of a table of
// its own.
#pragma once

#include "tests/heap/heap_runtime.h"

namespace clr::test {

// Describes the collector of `runtime` in the format of .NET 11, by the words of its GcDacVars.
void describe_by_contract(HeapRuntime& runtime, bool regions, bool server);

// Where the segment of handles has the numbers of its blocks, a byte each: of each kind the last one, and of
// each block the next one of its ring.
struct ContractHandles {
  Address tails = 0, links = 0;
};
// Describes its handles so, and writes the rings that the contract walks. Before: describe_by_contract.
ContractHandles describe_handles_by_contract(HeapRuntime& runtime);

} // namespace clr::test
