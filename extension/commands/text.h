// Values as people read them.
#pragma once

#include "core/runtime/runtime.h"
#include "extension/lldb/output.h"

#include <cstdint>
#include <string>
#include <vector>

namespace clr::lldb_plugin {

// "jitted, tier1", "r2r", "interpreted".
std::string describe_kind(const runtime::Code& code);
// "0x7f00..."; "?" where memory does not tell it.
std::string start_text(const runtime::Code& code);

// The block of `clrip2md`: a first line with the answer, then one line per fact.
std::string describe(const runtime::Answer& answer);

// Behind a count of what was asked for by a pattern: where nothing was found and the pattern has no * or ?,
// that it must match from end to end. Else "".
std::string whole_text_hint(std::uint64_t count, const std::string& glob);

// Warns that a list is incomplete: names the first few places that cannot be read and counts the others.
void warn_of(Output& out, const std::vector<EnumerationHole>& holes);

} // namespace clr::lldb_plugin
