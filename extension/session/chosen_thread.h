// The thread at which to look first.
#pragma once

#include "extension/session/session.h"

#include <lldb/API/LLDB.h>

#include <string>

namespace clr::lldb_plugin {

struct ChosenThread {
  lldb::SBThread thread; // not valid: none is known
  const char* why = "";
  bool failed = false;   // it had a signal that ends a process
  bool selected = false; // none failed, and on none an exception is in flight
  // Which thread failed, how and why, as crash_text() says it; empty: none did.
  std::string crash(Session& session) const;
};

// The thread that failed, else the first with an exception in flight, else the selected one. Never throws for
// target data.
ChosenThread choose_thread(Session& session, lldb::SBProcess& process);

} // namespace clr::lldb_plugin
