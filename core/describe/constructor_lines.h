// The lines of constructors, which hold the initialisers of fields: other methods may stand between those and
// what is written as the constructor.
#pragma once

#include "core/metadata/portable_pdb.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace clr {

// ".ctor" and ".cctor", as metadata names them.
bool is_constructor(std::string_view method);

// The first line of a constructor behind all lines of other methods that lie between its own; 0: none do. It
// is told to a debugger as the line of the declaration: LLDB moves a breakpoint on a line without code to the
// next line that has some, but not to a function that is declared behind the line, so that one in a method
// without code yet waits for that. Lines of the document of the constructor's last visible point count.
// `others`: the visible points of other methods, in any order. No reads.
std::uint32_t declaration_line(std::span<const SequencePoint> constructor,
                               std::span<const SequencePoint> others);

} // namespace clr
