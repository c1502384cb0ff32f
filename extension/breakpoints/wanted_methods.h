// The methods that breakpoints may mean, compiled or not, as far as metadata and symbols tell.
#pragma once

#include "core/runtime/code_notifications.h"
#include "extension/breakpoints/breakpoint_wish.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace clr {

// Tokens of the methods of the Module at `module` that one of `wishes` may mean: by their names, also those
// that a compiler made for a part of such a method, or by their lines. Nothing when that cannot be told: the
// wish is a pattern, the module has no metadata here or gets more of it while it runs, there are more than
// max_notified_methods, or the names or symbols of the module are beyond the limits below. Never throws.
// Cost: the names of all methods of the module; for a line also its symbols.
std::optional<std::vector<std::uint32_t>>
wanted_methods(Runtime& runtime, std::span<const BreakpointWish> wishes, Address module);

// Of one module: bytes of the names of its types, each with those around it, and bytes of the names of its
// source files. 100,000 types have some 10 million.
constexpr std::size_t max_wanted_text = 64u << 20;
// Looks at 65,536 sequence points, or at a method with more of them, for one line.
constexpr std::size_t max_wanted_looks = 500;

} // namespace clr
