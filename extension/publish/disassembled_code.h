// What the code refers to that LLDB's `disassemble` shows: LLDB annotates calls with the names of addresses,
// and stubs have the names of their methods only when somebody asks for them.
#pragma once

#include "core/memory/platform.h"
#include "extension/session/session.h"

#include <span>
#include <string_view>
#include <vector>

namespace clr::lldb_plugin {

// True for the command `words`, which LLDB runs, when it is `disassemble`.
bool disassembles(std::span<const std::string_view> words);

// The addresses that the managed methods refer to which such a command shows, wholly or in part: those that
// are called by the given name, hold the given address, or the selected frame's. Code behind max_listed_bytes
// is left out. Throws Error as ExecutionManager::find does. Cost: that of LLDB's disassembler.
std::vector<Address> addresses_disassembled(Session& session, std::span<const std::string_view> words);

constexpr std::uint64_t max_listed_bytes = 256 * 1024; // of code, for one command

} // namespace clr::lldb_plugin
