// Commands that make no sense without a runtime.
#pragma once

#include "core/runtime/runtime.h"

#include <string>

namespace clr {

// Why there is no runtime to read; empty when there is one.
std::string absence_text(const Runtime& runtime);

// Throws Error{invalid_argument} with that text.
void require_runtime(const Runtime& runtime);

} // namespace clr
