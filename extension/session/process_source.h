// A live process as what a minimal core is made of.
#pragma once

#include "core/report/save_core.h"
#include "core/runtime/runtime.h"

#include <lldb/API/LLDB.h>

namespace clr::lldb_plugin {

// Threads, registers and access to memory as LLDB tells them; the auxiliary vector and the mappings of files,
// which LLDB does not tell, from /proc when the process runs on this host (without them a core opens all the
// same, and LLDB finds no modules in it). All must outlive the result. Throws Error{unsupported_contract} for
// a CPU whose notes cannot be made.
SaveSource process_source(lldb::SBTarget& target, Runtime& runtime, MemoryReader& memory);

} // namespace clr::lldb_plugin
