// All managed code of a stopped process as rows of a perf map: what the runtime itself can write only when it
// was started for it, and the ReadyToRun methods, which it never writes.
// Source of the notation: dotnet/runtime src/coreclr/vm/perfmap.cpp.
#pragma once

#include "core/runtime/runtime.h"
#include "core/symbols/map_writers.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace clr {

// Calls `visit` with "instance void [app] Ns.Type::Run(int32)[OptimizedTier1]" for every part of every body,
// jitted or ReadyToRun, run or not; false stops. Returns what could not be read; a body of unknown size is
// one of these. Never throws. Cost: that of Runtime::for_each_method.
std::vector<EnumerationHole> for_each_code_row(Runtime& runtime,
                                               const std::function<bool(const MapRow&)>& visit);

// The runtime's own word for a tier in perf maps and events: "QuickJitted"; "Unknown" where memory does not
// tell it.
std::string_view perf_map_tier(Tier tier);

} // namespace clr
