// Registers of a stopped thread as LLDB shows them.
#pragma once

#include "core/isa/registers.h"

#include <lldb/API/LLDB.h>

namespace clr::lldb_plugin {

// General registers of the innermost frame of `thread`; those that LLDB does not show are unknown.
RegisterContext registers_of(lldb::SBThread& thread, Cpu cpu);

} // namespace clr::lldb_plugin
