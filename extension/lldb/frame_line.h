// Whether a frame stands at a line of source.
#pragma once

#include <lldb/API/LLDB.h>

namespace clr::lldb_plugin {

// Whether LLDB knows a line for the code at which `frame` stands. LLDB 14 gives a line entry that is none the
// greatest number, and code that the compiler made has line 0.
inline bool has_line(lldb::SBFrame& frame) {
  const lldb::SBLineEntry line = frame.GetLineEntry();
  return line.IsValid() && line.GetLine() != 0;
}

} // namespace clr::lldb_plugin
