// What LLDB shows below values by way of its Python: it takes providers of children that are classes of
// Python's, and no others.
#pragma once

#include "extension/lldb/entries.h"

#include <lldb/API/LLDB.h>

#include <span>

namespace clr::lldb_plugin {

// From now on LLDB asks `entry` for what stands below values whose types match one of `types`, regular
// expressions, in all debuggers; they are added to the category `category`. False: this LLDB has no Python,
// or one that cannot call the plugin. Starts LLDB's Python, which costs some 50 milliseconds the first time.
bool add_parts(lldb::SBDebugger& debugger, const char* category, std::span<const char* const> types,
               const PartsEntry& entry);

} // namespace clr::lldb_plugin
