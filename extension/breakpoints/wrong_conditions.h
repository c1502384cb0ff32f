// Conditions of breakpoints that LLDB could not evaluate, as in an instantiation of generic code where they
// have no meaning: `key == 3` where the key is a reference.
#pragma once

#include "extension/session/stop_session.h"

#include <lldb/API/LLDB.h>

#include <string>
#include <utility>
#include <vector>

namespace clr::lldb_plugin {

class WrongConditions {
public:
  explicit WrongConditions(lldb::SBTarget target) : target_(std::move(target)) {}

  // `thread` stands at breakpoints of the user's in managed code, whose conditions are not met, or have no
  // meaning in that instantiation of generic code. LLDB stops for the former when it could not evaluate them
  // before it knew of the code, or with types that it has forgotten since; for the latter, and says so each
  // time: such a place is told of once, and has a condition of its own from then on that is never met. True:
  // the process goes on. Never throws. Cost: each condition is evaluated once more, in managed code alone.
  bool pass(StopSession& sessions, lldb::SBThread& thread);
  // Places whose breakpoint has got another condition since are places like any other again.
  void forget_changed();

private:
  // False: the stop is one to the user.
  bool passes(StopSession& sessions, lldb::SBThread& thread, lldb::break_id_t id, lldb::break_id_t place);
  struct Place {
    lldb::break_id_t breakpoint = 0, location = 0;
    std::string condition; // of the breakpoint
  };

  lldb::SBTarget target_;
  std::vector<Place> places_;
};

} // namespace clr::lldb_plugin
