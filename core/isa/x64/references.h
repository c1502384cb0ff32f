// The addresses that x64 instructions name.
// Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2.
#pragma once

#include "core/isa/code_reference.h"

#include <functional>

namespace clr {

// See Architecture::code_reference and Architecture::visit_own_addresses.
std::optional<CodeReference> x64_code_reference(Address at, std::span<const std::byte> bytes,
                                                std::optional<KnownRegister>& known);
// Instructions are not told apart: every `lea reg, [rip + n]` counts, wherever its bytes stand.
void x64_visit_own_addresses(Address start, std::span<const std::byte> code,
                             const std::function<void(Address)>& visit);

} // namespace clr
