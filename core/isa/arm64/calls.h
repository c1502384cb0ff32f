// arm64 calls, seen from the return address: the instruction in front of it.
// Source: Arm Architecture Reference Manual for A-profile, A64 base instructions (BL, BLR, BLRA).
#pragma once

#include "core/memory/memory_reader.h"

#include <optional>

namespace clr {

// See Architecture::follows_call and Architecture::direct_call_target.
std::optional<bool> arm64_follows_call(MemoryReader& memory, Address return_address);
std::optional<Address> arm64_direct_call_target(MemoryReader& memory, Address return_address);

bool arm64_is_call(std::uint32_t instruction);

} // namespace clr
