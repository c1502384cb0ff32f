// Conditions of breakpoints that LLDB could not evaluate: what only C# has, `name == "Gorch"`, and what has
// no meaning in an instantiation of generic code, `key == 3` where the key is a reference.
#pragma once

#include "extension/lldb/csharp_frame.h"
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
  // time: such a place is told of once, and has a condition of its own from then on that is never met. Where
  // C# has a meaning for it, the breakpoint gets an expression of LLDB's that means the same, behind the
  // user's in a comment. True: the process goes on. Never throws. Cost: each condition is evaluated once
  // more, in managed code alone.
  bool pass(StopSession& sessions, lldb::SBThread& thread);
  // Before the process runs, and when LLDB was told of code: places whose breakpoint has a condition that
  // only C# has stop once, so that pass() can say what it means there, and LLDB does not complain.
  void foresee();
  // Places whose breakpoint has got another condition since are places like any other again.
  void forget_changed();
  // How LLDB is told of the types that a condition names.
  void describe_types_with(DescribeTypes describe) { describe_ = std::move(describe); }

private:
  // False: the stop is one to the user.
  bool passes(StopSession& sessions, lldb::SBThread& thread, lldb::break_id_t id, lldb::break_id_t place);
  // Whose own condition the plugin has set.
  struct Place {
    lldb::break_id_t breakpoint = 0, location = 0;
    std::string condition; // of the breakpoint
  };
  bool knows(lldb::break_id_t breakpoint, lldb::break_id_t location) const;
  void set(lldb::SBBreakpoint& breakpoint, lldb::SBBreakpointLocation& location, const std::string& own);

  lldb::SBTarget target_;
  std::vector<Place> places_;
  DescribeTypes describe_;
};

} // namespace clr::lldb_plugin
