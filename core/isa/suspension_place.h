// Where the compiled code of a method that the runtime suspends leaves at each of its awaits.
// Source: dotnet/runtime src/coreclr/jit/async.cpp.
#pragma once

#include "core/memory/platform.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace clr {

struct SuspensionPlace {
  std::uint32_t branch = 0; // offset of the jump behind the call that may suspend
  std::int32_t state = 0;   // the number that the continuation is given there

  friend bool operator==(const SuspensionPlace&, const SuspensionPlace&) = default;
};

// Those of `code`, whose instructions begin at `starts`, ascending by `branch`; several may lead to the same
// number. `state_offset`: where a continuation has its number, from the object's address. Nothing for code of
// another form, and for a CPU whose code is not known. No reads.
std::vector<SuspensionPlace> suspension_places(Cpu cpu, std::span<const std::byte> code,
                                               std::span<const std::uint32_t> starts,
                                               std::uint32_t state_offset);

constexpr unsigned max_suspension_steps = 64; // instructions from the jump to the store of the number

} // namespace clr
