// The suspensions of a method that the runtime suspends, in x64 code of .NET's JIT.
// Source: dotnet/runtime src/coreclr/jit/async.cpp; Intel 64 and IA-32 Architectures Software Developer's
// Manual, volume 2.
#pragma once

#include "core/isa/suspension_place.h"

namespace clr {

// See suspension_places.
std::vector<SuspensionPlace> x64_suspensions(std::span<const std::byte> code,
                                             std::span<const std::uint32_t> starts,
                                             std::uint32_t state_offset);

} // namespace clr
