// Signals that are how managed code works: the runtime turns them into exceptions, and a stop for them would
// look like a crash.
#pragma once

#include "extension/session/session.h"

#include <lldb/API/LLDB.h>

#include <optional>
#include <string>

namespace clr::lldb_plugin {

// The exception that the runtime will make of the signal at which `thread` stands: a SIGSEGV at an address
// below the first page, or a SIGFPE, in managed code, in a stub, or in a helper of the runtime's that managed
// code has just called. Nothing for every other signal, and for a thread that stands at none: a real crash, a
// stack overflow among them. Never throws. Source: dotnet/runtime src/coreclr/vm/exceptionhandling.cpp
// (HandleHardwareException, IsSafeToHandleHardwareException), NULL_AREA_SIZE of vm/common.h.
std::optional<std::string> exception_of_signal(Session& session, lldb::SBThread& thread);

} // namespace clr::lldb_plugin
