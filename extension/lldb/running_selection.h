// The thread that is selected while the process runs.
#pragma once

#include <lldb/API/LLDB.h>

namespace clr::lldb_plugin {

// An LLDB that looks_while_running() keeps the frame of the selected thread that it finds then, from before
// the thread ran on. At the thread's next stop a plan of its step takes it for the frame of that: where the
// step comes out of a call it believes that it is still in it, and goes on. So the process runs with another
// thread selected.
class RunningSelection {
public:
  // The last at a stop that nobody sees, before read_ahead(): where the selected thread is the one that
  // `steps`. Cost: the stop reasons of some threads.
  void move(lldb::SBProcess& process, lldb::tid_t steps);
  // The first at the next stop: the thread is selected that was.
  void restore(lldb::SBProcess& process);

private:
  lldb::tid_t selected_ = 0, instead_ = 0; // 0: the selection is as it was
};

} // namespace clr::lldb_plugin
