// Names in the way of C, as LLDB needs them. Pure functions.
#pragma once

#include "core/dwarf/debug_module.h"

#include <string>
#include <string_view>

namespace clr {

// LLDB takes a number for that of C which has its size, and forgets its name. Under another name it is shown
// as that, and what LLDB does for C's characters and strings is not done for bytes. Not so UTF-16: another
// name for it, "char", would be taken for C's.
std::string_view name_in_c(const DebugType& type);

// `name` with an underscore for all that LLDB takes for an operator.
std::string c_identifier(std::string name);

} // namespace clr
