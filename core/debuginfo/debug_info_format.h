// The coding of a body's debug info. Numbers of the DebugInfo contract were used twice, and .NET 10 has no
// such contract, so the body's own image or other contracts must tell the coding.
// Source: dotnet/runtime src/coreclr/inc/readytorun.h (history of versions),
// docs/design/datacontracts/DebugInfo.md and its earlier versions.
#pragma once

#include "core/debuginfo/bounds.h"
#include "core/debuginfo/patchpoint_info.h"
#include "core/debuginfo/variables.h"
#include "core/target/target.h"

#include <optional>

namespace clr {

struct DebugInfoFormat {
  enum class Header : std::uint8_t {
    two_sizes,   // .NET 7 to 9: bounds, variables
    marked,      // .NET 10: the same two sizes, or a mark and three sizes
    slim_or_fat, // .NET 11: two sizes, or a mark and six sizes; nothing comes before the header
  };
  Header header = Header::two_sizes;
  BoundsCoding bounds = BoundsCoding::nibbles;
  // Nothing: the contract does not tell which coding it is.
  VariablesCoding variables = VariablesCoding::from_4;
  PatchpointLayout patchpoints = net9_patchpoints;
};

// The format of code in a ReadyToRun image with this major version.
DebugInfoFormat debug_info_format(unsigned r2r_major);

// The format of jitted code: by the DebugInfo contract, else by that of the ExecutionManager, which .NET 10
// changed together with the coding. No reads. Throws Error{unsupported_contract} for an unknown version.
DebugInfoFormat jitted_debug_info_format(const Target& target);

} // namespace clr
