// Objects as users name them on a command line.
#pragma once

#include "core/memory/platform.h"

#include <lldb/API/LLDB.h>

#include <string>

namespace clr::lldb_plugin {

// The object that `text` names: a variable of the selected frame, or what evaluate_address takes. Throws
// Error{invalid_argument} for a null, for a variable that is a value, and as evaluate_address does.
Address evaluate_object(lldb::SBTarget& target, const std::string& text);

// The name of the type that the variable `text` of the selected frame is declared with; "" for anything else.
std::string declared_type(lldb::SBTarget& target, const std::string& text);

} // namespace clr::lldb_plugin
