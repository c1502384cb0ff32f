// What stands below managed variables, for LLDB's Python.
#pragma once

#include "extension/lldb/entries.h"

namespace clr::lldb_plugin {

PartsEntry value_parts_entry();

} // namespace clr::lldb_plugin
