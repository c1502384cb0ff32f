#include "extension/lldb/fresh_frames.h"

#include <cstdint>

namespace clr::lldb_plugin {

namespace {
// Whoever sets the program counter, be it to what it is, makes LLDB drop the frames that it has.
void refresh_by_register(lldb::SBFrame frame) {
  lldb::SBValue counter = frame.FindRegister("pc");
  if (!counter.IsValid()) return;
  const lldb::addr_t pc = counter.GetValueAsUnsigned(LLDB_INVALID_ADDRESS);
  if (pc != LLDB_INVALID_ADDRESS && pc != frame.GetPC()) frame.SetPC(pc);
}
} // namespace

// The first value that LLDB makes, be it of a register, loads all that it formats values with: some 30 ms.
void refresh_frames(lldb::SBThread& thread, lldb::addr_t place) {
  lldb::SBFrame frame = thread.GetFrameAtIndex(0);
  if (frame.GetPC() != place) refresh_by_register(frame);
}

void refresh_frames(lldb::SBProcess& process) {
  for (std::uint32_t i = 0; i < process.GetNumThreads(); ++i) {
    lldb::SBThread thread = process.GetThreadAtIndex(i);
    if (thread.GetStopReason() == lldb::eStopReasonBreakpoint) refresh_by_register(thread.GetFrameAtIndex(0));
  }
}

} // namespace clr::lldb_plugin
