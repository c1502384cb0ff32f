// A pointer of the target that may not be there.
#pragma once

#include "core/memory/memory_reader.h"
#include "core/memory/platform.h"

#include <optional>

namespace clr {

// The pointer at `at`; nothing when the target lacks it or a part of it. No exception: a damaged stack has
// millions of such words. Cost: one read. Never throws Error.
std::optional<Address> pointer_at(MemoryReader& memory, const Platform& platform, Address at);

} // namespace clr
