// LLDB's knowledge of native frames, as rows.
#pragma once

#include "core/runtime/stack_rows.h"

#include <lldb/API/LLDB.h>

namespace clr::lldb_plugin {

// Fills module, symbol and position of a native frame of `target` by LLDB's symbols and lines; `lookup` is
// the address of its call.
void name_native_frame(lldb::SBTarget& target, FrameRow& row, Address lookup);

} // namespace clr::lldb_plugin
