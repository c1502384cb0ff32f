// Values as people read them.
#pragma once

#include "core/runtime/answer.h"

#include <string>

namespace clr::lldb_plugin {

// "jitted, tier1", "r2r", "interpreted".
std::string describe_kind(const Code& code);

// The block of `clrip2md`: a first line with the answer, then one line per fact.
std::string describe(const Answer& answer);

} // namespace clr::lldb_plugin
