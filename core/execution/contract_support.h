// Which variants of the ExecutionManager contract a runtime has.
#pragma once

#include "core/execution/nibble_map.h"
#include "core/target/target.h"

namespace clr {

// By the version of the contract. Throws Error{unsupported_contract} that names an unknown one. No reads.
NibbleMapVersion nibble_map_version(const Target& target);

// Throws Error{unsupported_contract} for a version of PlatformMetadata that is not known. No reads.
void check_platform_metadata(const Target& target);

// Whether debug info of jitted code begins with a flag byte because on-stack replacement is compiled in. No
// reads.
bool has_on_stack_replacement(const Target& target);

} // namespace clr
