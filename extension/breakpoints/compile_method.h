// Where a process compiles methods.
#pragma once

#include "extension/session/session.h"

#include <lldb/API/LLDB.h>

namespace clr::lldb_plugin {

// The address of the JIT's compileMethod: by what libclrjit exports, which is there before anything has been
// compiled, else by the runtime's own pointer; 0 when neither leads there. Throws Error as the runtime's map
// of code ranges does.
lldb::addr_t find_compile_method(lldb::SBTarget target, Session& session);

} // namespace clr::lldb_plugin
