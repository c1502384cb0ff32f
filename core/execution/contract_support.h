// Which variants of the ExecutionManager contract a runtime uses.
#pragma once

#include "core/execution/nibble_map.h"
#include "core/target/target.h"

namespace clr {

// The encoding that belongs to the contract's version. Throws Error{unsupported_contract} when the contract
// cannot be read. No reads.
NibbleMapVersion nibble_map_version(const Target& target);

// Whether debug info of jitted code begins with a flag byte because on-stack replacement is compiled in. No
// reads.
bool has_on_stack_replacement(const Target& target);

} // namespace clr
