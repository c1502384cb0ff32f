// The way from scripts to LLDB's processes: the plugin's part of the C interface (include/lldb_clr.h).
#pragma once

#include "extension/session/session_store.h"

#include <cstdint>
#include <memory>

namespace clr::lldb_plugin {

// Makes the sessions of the debugger with this id known to scripts, as long as its commands keep them. A C
// function cannot be handed an object of C++: this is the one table by which it finds what a debugger's
// number stands for.
void remember_store(std::uint64_t debugger, const std::shared_ptr<SessionStore>& store);

} // namespace clr::lldb_plugin
