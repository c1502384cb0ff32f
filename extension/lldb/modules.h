// LLDB's modules, sections and symbols of a target, as core's values.
#pragma once

#include "core/memory/loaded_module.h"
#include "core/memory/platform.h"

#include <lldb/API/LLDB.h>

#include <string>
#include <vector>

namespace clr::lldb_plugin {

// Modules of `target` that are loaded, with what LLDB knows of each. Modules without a load address are left
// out.
std::vector<LoadedModule> modules_of(lldb::SBTarget& target);

// The GNU build id of a module; empty when it has none.
std::vector<std::uint8_t> build_id_of(lldb::SBModule& module);

// By the target's triple.
Platform platform_of(lldb::SBTarget& target);

// Thread ids of `process`, as it lists them.
std::vector<std::uint64_t> thread_ids_of(lldb::SBProcess& process);

// "libc.so.6`read + 18" by LLDB's symbols; empty when LLDB knows no module there.
std::string symbol_at(lldb::SBTarget& target, Address address);

} // namespace clr::lldb_plugin
