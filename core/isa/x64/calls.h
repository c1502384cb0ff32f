// x64 calls, seen from the return address: the instruction in front of it.
// Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, CALL.
#pragma once

#include "core/memory/memory_reader.h"

#include <optional>

namespace clr {

// See Architecture::follows_call and Architecture::direct_call_target.
std::optional<bool> x64_follows_call(MemoryReader& memory, Address return_address);
std::optional<Address> x64_direct_call_target(MemoryReader& memory, Address return_address);

// True when `instruction`, which is a whole one, is a call.
bool x64_is_call(std::span<const std::byte> instruction);

} // namespace clr
