// The frame pointer of a method whose code sets one up while its unwind data do not say so.
// The runtime's x64 unwind data count from rsp wherever they can. A debugger that comes to a frame with a
// wrong rsp but the right rbp gets further by the latter: so it is where the runtime handles a stack overflow
// on another stack, below a frame that it makes up.
#pragma once

#include "core/isa/frame_layout.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace clr {

// rbp - rsp behind the instruction at the front of `code`, when that is `lea rbp, [rsp + n]` or
// `mov rbp, rsp`. No reads.
std::optional<std::int64_t> x64_frame_pointer_set(std::span<const std::byte> code);

// `layout` with rbp in the place of rsp, for code where rbp - rsp is `distance`. Nothing when it counts from
// anything but rsp, or when rbp does not point to the caller's rbp below the return address, as it does in
// every method that has a frame pointer: such a register holds something else, and may change.
std::optional<FrameLayout> x64_layout_by_frame_pointer(const FrameLayout& layout, std::int64_t distance);

} // namespace clr
