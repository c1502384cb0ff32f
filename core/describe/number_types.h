// Numbers and enumerations as a debugger is to see them.
#pragma once

#include "core/dwarf/debug_module.h"
#include "core/objects/type_layout.h"

#include <optional>

namespace clr {

DebugType::Kind kind_of(ElementType number);

// LLDB shows a value that has no name as a union of those that have, unless one of them cannot be part of a
// union. For an enumeration that is no set of flags that would be wrong: it gets one such value, named after
// itself, before all others. Nothing: all small ones have names.
std::optional<DebugEnumerator> plain_number(const TypeLayout& layout);

// The type of a byte, signed or not, by its whole name ("System.Byte"), which C++ has not: a debugger takes
// an array of bytes for a text, and by this name a formatter knows better. Nothing for another type.
std::optional<DebugType> as_whole_byte(const DebugType& type);

} // namespace clr
