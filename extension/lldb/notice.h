// Sentences that the plugin says on its own, outside of a command.
#pragma once

#include <lldb/API/LLDB.h>

#include <string_view>

namespace clr::lldb_plugin {

// Writes `text` as it is to one of the debugger's streams; nothing when it has none.
void write_text(lldb::SBFile to, std::string_view text);

// "lldb-clr: TEXT" as a line of the debugger's error stream.
void notice(lldb::SBDebugger debugger, std::string_view text);

} // namespace clr::lldb_plugin
