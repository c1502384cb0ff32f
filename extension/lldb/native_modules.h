// Native modules that LLDB lacks in a core, given to it by their files.
#pragma once

#include "core/memory/loaded_module.h"

#include <lldb/API/LLDB.h>

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace clr::lldb_plugin {

// Adds to `target`, at their addresses, those of `modules` at whose addresses it has no module. LLDB finds
// the modules of a core by its executable: without one (`target create --core` alone, a single-file program)
// its stacks end at frame 0. `file_of` names the proven file on this host of a module, or nothing. A file
// whose build id is another one is not added. Returns how many were added. Cost: one lookup of LLDB's for
// each module, and for each that is added what LLDB takes to open it.
std::size_t add_native_modules(lldb::SBTarget& target, std::span<const LoadedModule> modules,
                               const std::function<std::string(const LoadedModule&)>& file_of);

// The address of the function `name` in the first loaded module whose file name begins with `file` and that
// has it; 0: none. Other modules are not searched: LLDB reads the symbols of each that it is asked for.
Address function_in(lldb::SBTarget& target, std::string_view file, const char* name);

} // namespace clr::lldb_plugin
