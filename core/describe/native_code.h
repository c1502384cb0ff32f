// Describes the native code that stands on stacks, for a debugger that has no file of it: a name for each
// function, and how the caller of each frame is found. Nothing else of a module is known.
#pragma once

#include "core/dwarf/debug_module.h"

#include <optional>
#include <string>
#include <vector>

namespace clr {

struct NativePlace {
  Address lookup = 0;                // the instruction, or the byte before a return address
  Address start = 0;                 // of the function; not above `lookup`
  std::string name;                  // of the function
  std::optional<FrameLayout> layout; // how the caller is found; nothing: that cannot be said
  FrameJumps jumps;                  // frames of which that does not hold; only with a layout
};

// The module `file_name` with the functions of `places`, each as far as its last place; rows hold from one
// place to the next. A function ends where the next one begins; places that are out of order are left out.
// Functions beyond max_native_functions are left out; `dropped` counts all of that. No reads.
DebugModule describe_native(std::string file_name, const Platform& platform, std::vector<NativePlace> places,
                            std::size_t& dropped);

// LLDB's cost grows with the square of the sections of a module, and each function has one.
constexpr std::size_t max_native_functions = 2'000;
// A function reaches no further back from a place: a start further away is that of something else.
constexpr std::uint64_t max_native_size = 4u << 20;

} // namespace clr
