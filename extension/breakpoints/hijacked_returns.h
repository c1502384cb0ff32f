// Return addresses that the runtime has overwritten to stop a thread when its method returns. The thread
// comes to a function of the runtime's then, of whose caller the debugger's unwinder knows nothing: plans of
// steps are given up there. Nothing is written here; a step is led on to where that function returns to.
#pragma once

#include "core/stack/hijack.h"
#include "extension/session/session.h"

#include <lldb/API/LLDB.h>

#include <cstdint>
#include <map>
#include <optional>

namespace clr::lldb_plugin {

class HijackedReturns {
public:
  // When `thread` has returned from a method, and stands at the begin of the function that the runtime has
  // led it to: where it would have returned to, and the place on the stack that this lay in. Throws Error
  // when the runtime's threads cannot be read.
  std::optional<Hijack> returned(Session& session, lldb::SBThread& thread);
  // The process is another one or gone.
  void forget() { threads_.clear(); }

  static constexpr std::size_t max_known = 10'000;

private:
  Address runtime_thread(Session& session, std::uint64_t os_id);

  std::map<std::uint64_t, Address> threads_; // the runtime's, by the kernel's number
};

} // namespace clr::lldb_plugin
