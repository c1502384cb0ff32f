// Threads of a session and their stacks, as rows.
#pragma once

#include "core/runtime/stack_reporter.h"
#include "core/runtime/stack_rows.h"
#include "extension/session/session.h"

#include <lldb/API/LLDB.h>

#include <functional>

namespace clr::lldb_plugin {

// The row of `thread`, with what the runtime knows of it.
ThreadRow describe_thread(Session& session, lldb::SBThread& thread, lldb::tid_t selected);

// The stack of `thread` by the core's own walker where it knows the CPU, else by LLDB's unwinder. Never
// throws for target data.
StackReporter::End walk_stack(Session& session, lldb::SBThread& thread, const StackReporter::Options& options,
                              const std::function<bool(const FrameRow&)>& visit);

} // namespace clr::lldb_plugin
