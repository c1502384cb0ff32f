// Functions of LLDB that versions newer than the oldest supported one (14) have. They are looked up in the
// process at run time, so the plugin loads where they are missing.
#pragma once

#include <lldb/API/LLDB.h>

#include <optional>
#include <string>

namespace clr::lldb_plugin {

// Path of the core file of `process` as this LLDB knows it; nothing when it cannot tell.
std::optional<std::string> core_file_of(lldb::SBProcess& process);

// The siginfo_t of the signal that `thread` stopped at; invalid when this LLDB has none.
lldb::SBValue siginfo_of(lldb::SBThread& thread);

// The major version of this LLDB; 0: it does not tell.
unsigned version_of_lldb();

// Whether the user asked LLDB to stop what it does; false when this LLDB cannot tell.
bool interrupt_requested(lldb::SBDebugger& debugger);

} // namespace clr::lldb_plugin
