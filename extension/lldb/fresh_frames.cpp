#include "extension/lldb/fresh_frames.h"

#include <cstdint>

namespace clr::lldb_plugin {

// Whoever sets the program counter, be it to what it is, makes LLDB drop the frames that it has.
void refresh_frames(lldb::SBThread& thread) {
  lldb::SBFrame frame = thread.GetFrameAtIndex(0);
  lldb::SBValue counter = frame.FindRegister("pc");
  if (!counter.IsValid()) return;
  const lldb::addr_t pc = counter.GetValueAsUnsigned(LLDB_INVALID_ADDRESS);
  if (pc != LLDB_INVALID_ADDRESS && pc != frame.GetPC()) frame.SetPC(pc);
}

void refresh_frames(lldb::SBProcess& process) {
  for (std::uint32_t i = 0; i < process.GetNumThreads(); ++i) {
    lldb::SBThread thread = process.GetThreadAtIndex(i);
    if (thread.GetStopReason() == lldb::eStopReasonBreakpoint) refresh_frames(thread);
  }
}

} // namespace clr::lldb_plugin
