// All managed code of a stopped process as rows of a perf map. The runtime itself can write such a map only
// when it was started with that option, and never writes ReadyToRun methods.
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
// jitted or ReadyToRun, whether it ran or not; stops when `visit` returns false. Returns the parts that could
// not be read, including bodies of unknown size, of which at most max_unsized are told. Never throws. Cost:
// that of Runtime::for_each_method.
std::vector<EnumerationHole> for_each_code_row(Runtime& runtime,
                                               const std::function<bool(const symbols::MapRow&)>& visit);

// Each is told with its name and its fault. Of an honest core few bodies have no size.
constexpr std::size_t max_unsized = 10'000;

// The runtime's own word for a tier in perf maps and events: "QuickJitted"; "Unknown" when memory does not
// tell the tier.
std::string_view perf_map_tier(Tier tier);

} // namespace clr
