// Ctrl-C at a terminal while a call of LLDB's waits for the process: LLDB tells the thread of the command
// alone, and that one waits.
#pragma once

namespace clr::lldb_plugin {

// Notes SIGINT while it lives, and hands it on to the handler that the host of LLDB has; a host that has none
// is left as it is. One at a time in this process: a second one notes nothing.
class InterruptSignal {
public:
  InterruptSignal();
  ~InterruptSignal();
  InterruptSignal(const InterruptSignal&) = delete;
  InterruptSignal& operator=(const InterruptSignal&) = delete;

  // Any thread may ask.
  bool came() const;

private:
  bool installed_ = false;
};

} // namespace clr::lldb_plugin
