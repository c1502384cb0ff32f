// The values that architecture_of() chooses from, one for each CPU.
#pragma once

#include "core/isa/architecture.h"

namespace clr {

extern const Architecture unknown_architecture; // lookup_only.cpp
extern const Architecture x64_architecture;     // x64/architecture.cpp
extern const Architecture arm64_architecture;   // arm64/architecture.cpp
// lookup_only.cpp
extern const Architecture x86_architecture, arm_architecture, loongarch64_architecture, riscv64_architecture,
    wasm_architecture;

} // namespace clr
