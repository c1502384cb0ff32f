// Return addresses that the runtime has overwritten to stop a thread when its method returns. A step out of
// that method comes to a function of the runtime's then, of whose caller the debugger's unwinder knows
// nothing: it would give the step up. Nothing is written here; the step ends where that function returns to.
#pragma once

#include "core/stack/hijack.h"
#include "extension/breakpoints/plants.h"
#include "extension/session/session.h"

#include <lldb/API/LLDB.h>

#include <cstdint>
#include <map>
#include <optional>

namespace clr::lldb_plugin {

class HijackedReturns {
public:
  // The places must outlive this.
  explicit HijackedReturns(Plants& plants) : plants_(&plants) {}

  // Before `thread` steps: where such a return of its innermost frame would come to is watched until
  // disarm(), as soon as one was seen. Throws Error when the runtime's threads cannot be read.
  void arm(Session& session, lldb::SBThread& thread);
  // The thread that steps came to a place. Where its frame of the step was to return to when that place is of
  // a hijacked return. Throws Error as above.
  std::optional<Address> hit(Session& session, lldb::SBThread& thread);
  // Before the process runs on.
  void disarm();
  // The process is another one or gone.
  void forget() { threads_.clear(), function_ = 0, place_ = 0; }

  static constexpr std::uint64_t max_stack = 16 << 20;
  static constexpr std::size_t max_known = 10'000;

private:
  Address runtime_thread(Session& session, std::uint64_t os_id);
  std::optional<Hijack> find(Session& session, Address thread, Address first, Address end);

  Plants* plants_;
  std::map<std::uint64_t, Address> threads_; // the runtime's, by the kernel's number
  Address function_ = 0;                     // where hijacked returns come to; 0: none was seen yet
  Address cfa_ = 0;                          // of the frame that steps
  int place_ = 0;
};

} // namespace clr::lldb_plugin
