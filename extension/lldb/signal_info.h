// More of a signal than its number.
#pragma once

#include <lldb/API/LLDB.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace clr::lldb_plugin {

// The address whose access gave `thread` its SIGSEGV; nothing when the processor does not tell it (a wild
// address is not one that it could look up), or this LLDB does not. By the signal's siginfo, else by LLDB's
// description of the stop.
std::optional<std::uint64_t> fault_address(lldb::SBThread& thread);

// Of such a description: "signal SIGSEGV: invalid address (fault address: 0x8)" (14), "... (fault
// address=0x8)" (newer ones).
std::optional<std::uint64_t> fault_address_in(std::string_view description);

// Sees to it that the signal with this name stops the process. False when LLDB refuses, or does not know it.
bool stop_at_signal(lldb::SBProcess& process, const char* name);

} // namespace clr::lldb_plugin
