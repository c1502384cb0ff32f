// Values as people read them.
#pragma once

#include "core/runtime/runtime.h"
#include "extension/lldb/output.h"

#include <string>
#include <vector>

namespace clr::lldb_plugin {

// "jitted, tier1", "r2r", "interpreted".
std::string describe_kind(const runtime::Code& code);
// "0x7f00..."; "?" where memory does not tell it.
std::string start_text(const runtime::Code& code);

// The block of `clrip2md`: a first line with the answer, then one line per fact.
std::string describe(const runtime::Answer& answer);

// Warns that a list is incomplete: names the first few places that cannot be read and counts the others.
void warn_of(Output& out, const std::vector<EnumerationHole>& holes);

} // namespace clr::lldb_plugin
