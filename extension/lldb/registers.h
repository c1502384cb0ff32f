// Registers of a stopped thread as LLDB shows them.
#pragma once

#include "core/isa/registers.h"

#include <lldb/API/LLDB.h>

#include <cstdint>
#include <optional>

namespace clr::lldb_plugin {

// The register `name` of `frame`; nothing: LLDB does not show it.
std::optional<std::uint64_t> register_of(lldb::SBFrame& frame, const char* name);

// General registers of the innermost frame of `thread`; those that LLDB does not show are unknown.
RegisterContext registers_of(lldb::SBThread& thread, Cpu cpu);

} // namespace clr::lldb_plugin
