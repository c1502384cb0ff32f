#include "core/isa/suspension_place.h"

#include "core/isa/x64/suspensions.h"

namespace clr {

std::vector<SuspensionPlace> suspension_places(Cpu cpu, std::span<const std::byte> code,
                                               std::span<const std::uint32_t> starts,
                                               std::uint32_t state_offset) {
  return cpu == Cpu::x64 ? x64_suspensions(code, starts, state_offset) : std::vector<SuspensionPlace>();
}

} // namespace clr
