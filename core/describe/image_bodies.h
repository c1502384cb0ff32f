// Finds all method bodies of a ReadyToRun image, run or not, in one walk over its tables.
#pragma once

#include "core/describe/body_description.h"

#include <functional>

namespace clr {

// Calls `visit` for every method of the image that has code, in the order of their code; false stops. The
// body is the visitor's until it returns. Those that cannot be read go to `hole`. Throws Error when the
// image's tables cannot be read. Cost: a read for all runtime functions, and names; on arm64 3 reads for each
// body.
void for_each_image_body(Runtime& runtime, const RangeSection& section,
                         const std::function<bool(FoundBody&)>& visit,
                         const std::function<void(const UnspelledMethod&, const std::string&)>& hole);

} // namespace clr
