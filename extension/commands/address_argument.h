// Addresses as users write them on a command line.
#pragma once

#include "core/memory/platform.h"

#include <lldb/API/LLDB.h>

#include <optional>
#include <string>
#include <string_view>

namespace clr::lldb_plugin {

// A number as debuggers print and take it: decimal, 0x..., or bare hexadecimal digits that cannot be anything
// else (SOS prints addresses so). Nothing for any other text and for what does not fit 64 bits.
std::optional<Address> parse_number(std::string_view text);

// The address that `text` names: a number, a register ($pc), a symbol (read + 4), an expression in the
// selected frame. Expressions are only interpreted: no code runs in the target. Throws
// Error{invalid_argument} that says why not.
Address evaluate_address(lldb::SBTarget& target, const std::string& text);

// The same for a text that somebody else may have written, such as a line of a file: a number, a register or
// a symbol. Never an expression, because one can write to the target.
Address plain_address(lldb::SBTarget& target, const std::string& text);

} // namespace clr::lldb_plugin
