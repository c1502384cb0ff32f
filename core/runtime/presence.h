// Commands that make no sense without a runtime.
#pragma once

#include "core/runtime/runtime.h"

#include <string>

namespace clr {

// Why there is no runtime to read; empty when there is one.
std::string absence_text(const Runtime& runtime);

// Throws Error with that text: of the kind of the fault that hides the runtime, or of kind invalid_argument
// where there is none to read.
void require_runtime(const Runtime& runtime);

} // namespace clr
