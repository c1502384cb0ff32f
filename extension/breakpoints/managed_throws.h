// Breakpoints on exceptions that managed code throws, in one process.
#pragma once

#include "extension/breakpoints/thrown_exceptions.h"
#include "extension/lldb/entries.h"
#include "extension/session/stop_session.h"

#include <lldb/API/LLDB.h>

#include <cstdint>
#include <map>
#include <string>

namespace clr::lldb_plugin {

class ManagedThrows {
public:
  // Sessions are of the target's process, and must outlive this. `hit` is called at each throw. `before`: of
  // the target's process before; null: there was none.
  ManagedThrows(lldb::SBTarget target, StopSession& sessions, HitEntry hit, const ManagedThrows* before)
      : target_(std::move(target)), sessions_(&sessions), hit_(hit) {
    if (before != nullptr) types_ = before->types_;
    types_.forget();
  }

  // A breakpoint on the exceptions of `type` and of the types that are derived from it (empty: on all), which
  // the user sees. Invalid when LLDB refuses it.
  lldb::SBBreakpoint make(const std::string& type);
  // What a breakpoint that make() made means; null: it is none.
  const std::string* type_of(lldb::SBBreakpoint& breakpoint) const {
    return types_.type_of(breakpoint.GetID());
  }
  // This runtime throws by methods of the framework.
  static bool can_stop(Runtime& runtime);
  // The exception that `thread` throws, when it stands where breakpoints of make() stop: the runtime does not
  // know it yet. 0: the thread stands elsewhere. Throws Error. Cost: that of a name.
  static Address thrown_by(Session& session, lldb::SBThread& thread);

  // A thread throws: true when breakpoint `id` means the exception. One that cannot be read stops.
  bool stops(lldb::SBThread& thread, lldb::break_id_t id);
  // At a stop of the user's: the exception is told of, and the frame selected that has thrown it.
  void at_stop();

private:
  bool throws_by_fault(Session& session, Address pc);
  std::string text_of(Session& session) const;

  lldb::SBTarget target_;
  StopSession* sessions_;
  HitEntry hit_;
  ThrownExceptions types_;
  std::map<Address, bool> by_fault_; // starts of bodies
  // The throw that a thread stands at.
  struct Thrown {
    std::uint64_t thread = 0; // 0: none
    std::uint32_t stop = 0;   // its number, which expressions that run at it leave as it is
    Address object = 0;       // 0: there is none yet
    std::string type;
  };
  Thrown thrown_;
};

} // namespace clr::lldb_plugin
