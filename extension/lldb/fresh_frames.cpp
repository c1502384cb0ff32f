#include "extension/lldb/fresh_frames.h"

#include "extension/lldb/newer_api.h"
#include "extension/lldb/registers.h"

#include <cstdint>

namespace clr::lldb_plugin {

namespace {
// Whoever sets the program counter, be it to what it is, makes LLDB drop the frames that it has.
void refresh_by_register(lldb::SBFrame frame) {
  const auto pc = register_of(frame, "pc");
  if (pc && *pc != frame.GetPC()) frame.SetPC(*pc);
}
} // namespace

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

bool looks_while_running() {
  static const unsigned version = version_of_lldb();
  constexpr unsigned first = 21, last = 22;
  return version >= first && version <= last;
}

void read_ahead(lldb::SBProcess& process) {
  if (!looks_while_running()) return;
  lldb::SBThread thread = process.GetSelectedThread();
  lldb::SBFrame frame = thread.GetFrameAtIndex(0);
  frame.GetCFA(); // what is asked of a frame makes LLDB find it
}

} // namespace clr::lldb_plugin
