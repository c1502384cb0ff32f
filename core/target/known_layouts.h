// Layouts of runtimes that describe themselves incompletely or not at all: .NET 9 and the first
// single-file hosts of .NET 10. They replace a descriptor; the addresses come from the table that the runtime
// exports for its own debugger support.
#pragma once

#include "core/target/contract_descriptor.h"

namespace clr {

// The table g_dacTable, an array of absolute addresses; the index says which root it is. [rt]
// src/coreclr/inc/dacvars.h
struct DacTable {
  Address address = 0;
  std::uint64_t size = 0; // bytes
};

// Adds the missing parts of the ExecutionManager contract to `descriptor`. A .NET 9 descriptor gets the range
// section map and the types for code lookup. An empty one (only platform set) gets every known layout of its
// CPU. Contract versions that are added are "1" or "2", as the layouts require. Returns false, and adds
// nothing, while the runtime has not filled in the table yet. 1 read. Throws Error: memory_missing; corrupt
// (an implausible table); unsupported_contract (32-bit, unknown CPU, a table of another generation).
bool complete_from_dac_table(MemoryReader& memory, const DacTable& table, ContractDescriptor& descriptor);

} // namespace clr
