// LLDB calls this when it loads the plugin.
#include "extension/commands/register.h"

#include <lldb/API/LLDB.h>

#include <dlfcn.h>

namespace lldb {
__attribute__((visibility("default"))) bool PluginInitialize(SBDebugger debugger);
}

namespace {
// A script host loads liblldb privately, so that a library which is not linked to it cannot see its symbols.
// Ours are bound lazily: put the liblldb that calls us within reach before the first of them is used.
void expose_caller(void* return_address) {
  Dl_info caller;
  if (dladdr(return_address, &caller) != 0 && caller.dli_fname != nullptr)
    dlopen(caller.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);
}
} // namespace

bool lldb::PluginInitialize(SBDebugger debugger) {
  expose_caller(__builtin_return_address(0));
  try {
    return clr::lldb_plugin::register_commands(debugger);
  } catch (...) {
    return false; // there was no memory for a door
  }
}
