// Code that a command names beside what stands on the stacks: what the printed instructions of a frame refer
// to, and what its registers hold.
#pragma once

#include "core/memory/platform.h"
#include "extension/session/session.h"

#include <lldb/API/LLDB.h>

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace clr::lldb_plugin {

// The addresses that the instructions name which LLDB prints at a stop: where the selected thread stands, and
// those that have a reason to stop, of which LLDB may select one. None where there is a source line. Cost:
// that of LLDB's disassembler.
std::vector<Address> addresses_at_stop(Session& session);

// The same of the frame that the command `words` will show (PublishLevel's shows_instructions), or what the
// registers of the selected frame hold (shows_registers). Nothing when the command cannot be told.
std::optional<std::vector<Address>> addresses_shown(Session& session,
                                                    std::span<const std::string_view> words);

} // namespace clr::lldb_plugin
