// Lets a process that stands run for some time, and stops it again.
#pragma once

#include <lldb/API/LLDB.h>

#include <chrono>

namespace clr::lldb_plugin {

// While this lives, LLDB waits for the end of each step and of each run.
class Synchronous {
public:
  explicit Synchronous(lldb::SBDebugger& debugger) : debugger_(debugger), was_async_(debugger.GetAsync()) {
    debugger_.SetAsync(false);
  }
  ~Synchronous() { debugger_.SetAsync(was_async_); }
  Synchronous(const Synchronous&) = delete;
  Synchronous& operator=(const Synchronous&) = delete;

private:
  lldb::SBDebugger& debugger_;
  bool was_async_;
};

// Lets `process` run for `time`, or until it stops by itself, or until the user asks for an end: by Ctrl-C at
// a terminal, or as an editor does. Returns how long it ran; the caller asks the process whether it stands.
// Throws Error when LLDB cannot let it run.
std::chrono::duration<double> run_for(lldb::SBDebugger& debugger, lldb::SBProcess& process,
                                      std::chrono::duration<double> time);

} // namespace clr::lldb_plugin
