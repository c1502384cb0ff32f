// Deadlocks as people read them.
#pragma once

#include "core/runtime/lock_report.h"
#include "extension/lldb/output.h"

namespace clr::lldb_plugin {

void print_deadlock(Output& out, const Deadlock& deadlock, LockReporter& locks);

} // namespace clr::lldb_plugin
