// What somebody who begins to debug should know is missing.
#pragma once

#include "extension/session/session.h"

#include <lldb/API/LLDB.h>

#include <string>

namespace clr::lldb_plugin {

// One line about the innermost frame of `thread` in code that is not .NET's own: it has no PDB here, or is
// optimised, and what to do about that. Empty: nothing is missing, or there is no such frame (`seen` says
// which). Cost: the frames up to that one, and what opens a PDB. Throws Error as the runtime does.
struct FirstStop {
  bool seen = false;
  std::string text;
};
FirstStop look_at_first_stop(Session& session, lldb::SBThread& thread);

constexpr unsigned max_first_frames = 32;

// `frame` stands in a method of the user's: not in the framework's, nor in code that is made at run time.
// False also when that cannot be read. Never throws Error. Cost: that of Runtime::describe().
bool stands_in_users_code(Session& session, lldb::SBFrame frame);

} // namespace clr::lldb_plugin
