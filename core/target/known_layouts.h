// Layouts of runtimes that do not describe themselves, or not enough: .NET 8, .NET 9 and the first
// single-file hosts of .NET 10. They take the place of a descriptor, under the roots that the runtime's table
// for its own debugger support exports.
#pragma once

#include "core/target/contract_descriptor.h"

namespace clr {

// Roots by their place in g_dacTable, an array of absolute addresses. [rt] src/coreclr/inc/dacvars.h
struct DacTable {
  Address address = 0;
  std::uint64_t size = 0; // bytes
};

// Adds to `descriptor` what it lacks of the ExecutionManager contract: a .NET 9 descriptor gets the range
// section map and the types of code lookup; an empty one (platform set) gets every layout that is known for
// its CPU. Contract versions that are added read "1" or "2" as the layouts demand. False, and nothing added,
// while the runtime has not filled the table yet. 1 read. Throws Error: memory_missing; corrupt (an
// implausible table); unsupported_contract (32-bit, unknown CPU, a table of another generation).
bool complete_from_dac_table(MemoryReader& memory, const DacTable& table, ContractDescriptor& descriptor);

} // namespace clr
