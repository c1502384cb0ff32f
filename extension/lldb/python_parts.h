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

// Switches the enabled ones of `categories` off while LLDB prints frames, and on again: LLDB calls Python
// four times for each value with such parts, half a millisecond in all, also where none of them is shown.
// They are LLDB's for all debuggers, and so is this; what the user has switched off stays so.
void hide_parts(lldb::SBDebugger& debugger, std::span<const char* const> categories);
void show_parts(lldb::SBDebugger& debugger, std::span<const char* const> categories);
bool parts_are_hidden();

// No code of Python's runs or waits, on any thread, and no module was imported that adds commands: nobody
// looks at values but LLDB's own commands. `false` also when it cannot be told. Starts LLDB's Python; some
// 0.5 milliseconds.
bool python_is_idle(lldb::SBDebugger& debugger);

} // namespace clr::lldb_plugin
