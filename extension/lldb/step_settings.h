// Settings of LLDB's that steps in managed code need, and that the user has back behind each step.
#pragma once

#include <lldb/API/LLDB.h>

#include <set>
#include <string_view>

namespace clr::lldb_plugin {

// Whether steps into calls go over the getters and setters of properties and over operators: that is said by
// LLDB's setting of names that it steps over (target.process.thread.step-avoid-regexp), which keeps what else
// the user has there.
bool steps_over_properties(lldb::SBDebugger& debugger);
void set_steps_over_properties(lldb::SBDebugger& debugger, bool on);
// "Ns.Type.get_Name" and "Ns.Type.op_Addition".
bool is_property_or_operator(std::string_view method);

class StepSettings {
public:
  explicit StepSettings(lldb::SBTarget target) : target_(std::move(target)) {}

  // A thread that is stepped alone waits for ever when the garbage collector wants it to wait: its other
  // threads do not run. LLDB steps a thread alone where it sees no call.
  static constexpr std::string_view all_threads = "target.process.run-all-threads";
  // Steps that come to code without lines go on out of it.
  static constexpr std::string_view avoid_no_lines = "target.process.thread.step-out-avoid-nodebug";

  // Switches `name` on, if it is off, until restore(). The process is that of the debugger's selected target.
  void switch_on(std::string_view name);
  void restore();

private:
  void set(std::string_view name, const char* value);

  lldb::SBTarget target_;
  std::set<std::string_view> changed_;
};

} // namespace clr::lldb_plugin
