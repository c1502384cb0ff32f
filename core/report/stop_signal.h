// The signal with which a thread stands in a core or under a debugger. Numbers are those of Linux on x64 and
// arm64.
#pragma once

#include <cstdint>
#include <string>

namespace clr {

// False for 0, and for signals which say that somebody stopped the process, not that it failed.
bool says_that_it_failed(std::uint64_t signal);
// "signal SIGABRT", as LLDB says it; "signal 34" for one without a name of its own.
std::string signal_text(int signal);

} // namespace clr
