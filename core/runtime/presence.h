// For commands that make no sense without a runtime.
#pragma once

#include "core/runtime/runtime.h"

#include <string>

namespace clr {

// Why there is no runtime to read; empty when there is one.
std::string absence_text(const Runtime& runtime);

// Throws an Error with that text when there is no runtime to read. Its kind is that of the fault that hides
// the runtime, else invalid_argument.
void require_runtime(const Runtime& runtime);

} // namespace clr
