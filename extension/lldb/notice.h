// Sentences that the plugin says on its own, outside of a command.
#pragma once

#include <lldb/API/LLDB.h>

#include <string_view>

namespace clr::lldb_plugin {

// "lldb-clr: TEXT" as a line of the debugger's error stream.
void notice(lldb::SBDebugger debugger, std::string_view text);

} // namespace clr::lldb_plugin
