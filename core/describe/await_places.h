// Where an async method gives up its thread, and where it goes on. Source: dotnet/runtime
// docs/design/specs/PortablePdb-Metadata.md (async method stepping information).
#pragma once

#include "core/debuginfo/il_map.h"
#include "core/execution/code_block.h"
#include "core/metadata/portable_pdb.h"

#include <vector>

namespace clr {

struct AwaitPlace {
  Address yield = 0;  // it is certain that the method waits: its state is stored; 0: not known
  Address resume = 0; // behind the jump to the await, when the method is called again; 0: not known
};

// Of a body of an async method's MoveNext, in the order of the states 0, 1, ... No reads.
std::vector<AwaitPlace> await_places(const MethodRegions& regions, const IlMap& map,
                                     const AsyncMethod& method);

} // namespace clr
