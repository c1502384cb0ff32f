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

// LLDB calls it for each module that it is about to load for a process; an error lets it look for the file by
// itself.
using LocateModule = lldb::SBError (*)(void* baton, const lldb::SBModuleSpec& module, lldb::SBFileSpec& file,
                                       lldb::SBFileSpec& symbols);
// From now on `locate` is called, with `baton`, for the processes of this host that `debugger` has, and
// nobody else is. False: this LLDB does not call (before 17), or does so on threads that its own locks keep
// from looking at the process (from 21), or nobody has tried it there: 19 alone is known to be fit.
bool call_when_located(lldb::SBDebugger& debugger, LocateModule locate, void* baton);

} // namespace clr::lldb_plugin
