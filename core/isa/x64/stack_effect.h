// The effect of the instructions of stubs on the stack. Resolve stubs push and pop; no stub has unwind data.
#pragma once

#include "core/isa/architecture.h"

namespace clr {

// See Architecture::stack_effect.
StackEffect x64_stack_effect(std::span<const std::byte> code);

} // namespace clr
