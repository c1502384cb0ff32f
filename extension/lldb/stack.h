// What LLDB knows of stacks, as rows.
#pragma once

#include "core/runtime/stack_rows.h"
#include "extension/session/session.h"

#include <lldb/API/LLDB.h>

#include <cstddef>
#include <functional>
#include <string>

namespace clr::lldb_plugin {

// Fills module, symbol and position of a native frame of `target` by LLDB's symbols and lines; `lookup` is
// the address of its call.
void name_native_frame(lldb::SBTarget& target, FrameRow& row, Address lookup);

// The stack as LLDB's own unwinder walks it, managed frames named by the runtime: for CPUs whose stacks the
// core does not walk. Hands the frames of `thread` to `visit`, innermost first, at most `limit`; false from
// `visit` stops. Returns why the walk ended, as ThreadRow::end. Never throws for target data.
std::string walk_with_lldb(Session& session, lldb::SBThread& thread, std::size_t limit,
                           const std::function<bool(const FrameRow&)>& visit);

} // namespace clr::lldb_plugin
