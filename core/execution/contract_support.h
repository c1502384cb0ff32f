// Which variants of the ExecutionManager contract a runtime uses.
#pragma once

#include "core/execution/nibble_map.h"
#include "core/target/target.h"

namespace clr {

// The encoding that belongs to the contract's version. Throws Error{unsupported_contract} that names an
// unknown version. No reads.
NibbleMapVersion nibble_map_version(const Target& target);

// Throws Error{unsupported_contract} for an unknown version of PlatformMetadata. No reads.
void check_platform_metadata(const Target& target);

// Whether debug info of jitted code begins with a flag byte because on-stack replacement is compiled in. No
// reads.
bool has_on_stack_replacement(const Target& target);

} // namespace clr
