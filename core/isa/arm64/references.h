// The addresses that arm64 instructions name.
// Source: Arm Architecture Reference Manual for A-profile, A64 base instructions.
#pragma once

#include "core/isa/code_reference.h"

#include <functional>

namespace clr {

// See Architecture::code_reference and Architecture::visit_own_addresses.
std::optional<CodeReference> arm64_code_reference(Address at, std::span<const std::byte> bytes,
                                                  std::optional<KnownRegister>& known);
void arm64_visit_own_addresses(Address start, std::span<const std::byte> code,
                               const std::function<void(Address)>& visit);

} // namespace clr
